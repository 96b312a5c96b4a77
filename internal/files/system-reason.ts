import { codeOf, errorText } from "../base/errors.ts";

const WORDS: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EPERM: "permission denied",
  EROFS: "the file system is read-only",
  ENOSPC: "no space left on the device",
  EDQUOT: "the disk quota is used up",
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

/**
 * The system's reason for refusing a file, in words: `there is no such WHAT`, `permission denied`. An error that is not
 * the system's keeps its own text.
 */
export function systemReason(err: unknown, what = "file"): string {
  const code = codeOf(err);
  return code === "ENOENT" ? `there is no such ${what}` : (WORDS[code] ?? errorText(err));
}
