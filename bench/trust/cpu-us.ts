/** The mean CPU time of this process per call of `work`, µs. */
export function cpuUs(count: number, work: (i: number) => void): number {
  const before = process.cpuUsage();
  for (let i = 0; i < count; i++) work(i);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}
