const WORDS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  ENOSPC: "no space left on the device",
  EDQUOT: "the disk quota is used up",
  ENOENT: "there is no such file",
  ENOTDIR: "a part of the path is not a folder",
  EISDIR: "it is a folder",
  EEXIST: "a file is in the way",
  ENAMETOOLONG: "the name is too long",
  ELOOP: "too many symbolic links",
  EMFILE: "too many open files",
  EIO: "input/output error",
  ENOTEMPTY: "a folder is in the way",
  EBADF: "it is not open",
};

/** Why the system refuses a file, in words; undefined for an error that is not the system's, or an uncommon one. */
export function systemReason(err: unknown): string | undefined {
  return WORDS[(err as NodeJS.ErrnoException | undefined)?.code ?? ""];
}
