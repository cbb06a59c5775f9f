const PROBLEMS: Record<string, string> = {
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system is read-only',
  EIO: 'the disk reports an input or output error',
  ENOENT: 'its folder no longer exists',
  ENOTDIR: 'its folder is a file',
  EACCES: 'permission is denied',
  EPERM: 'permission is denied',
  EMFILE: 'too many files are open',
  ENFILE: 'too many files are open',
};

/** Why a file cannot be written, for a sentence. */
export function reasonOf({ code = 'unknown error' }: NodeJS.ErrnoException): string {
  const known = PROBLEMS[code];
  return known === undefined ? code : `${known} (${code})`;
}

/** Other file errors are programming mistakes, whose stack helps. */
const CORRECTABLE = new Set(['ENOSPC', 'EDQUOT', 'EROFS', 'EIO', 'EACCES', 'EPERM']);

/** A sentence for a start that ends because a file cannot be written; undefined for other errors. */
export function describeDiskProblem(error: unknown): string | undefined {
  const problem = (error ?? {}) as NodeJS.ErrnoException;
  if (problem.code === undefined || !CORRECTABLE.has(problem.code)) return undefined;
  return (
    `${problem.path ?? 'A file of the data folder'} cannot be written: ${reasonOf(problem)}. ` +
    'Correct that and start again, or set USWARM_DATA_DIR to another folder.'
  );
}
