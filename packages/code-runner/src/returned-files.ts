import type { Job, ResultError } from './protocol.js';

interface Returned {
  files: { name: string; bytes: Uint8Array }[];
  error?: ResultError;
}

/** New and changed files; none if they exceed a limit. */
export function filesToReturn(
  before: ReadonlyMap<string, Uint8Array>,
  after: ReadonlyMap<string, Uint8Array>,
  { maxFiles, maxFileBytes }: Pick<Job, 'maxFiles' | 'maxFileBytes'>,
): Returned {
  const files = [...after]
    .filter(([name, bytes]) => !isEqual(before.get(name), bytes))
    .map(([name, bytes]) => ({ name, bytes }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  const refused = (message: string): Returned => ({ files: [], error: { reason: 'files', message } });
  if (files.length > maxFiles)
    return refused(`The code wrote more than ${maxFiles} files. Write fewer, or one ZIP file.`);
  const size = files.reduce((sum, { bytes }) => sum + bytes.length, 0);
  if (size > maxFileBytes)
    return refused(`The files that the code wrote have more than ${Math.floor(maxFileBytes / 1024 / 1024)} MiB.`);
  return { files };
}

function isEqual(one: Uint8Array | undefined, other: Uint8Array): boolean {
  return one !== undefined && one.length === other.length && one.every((byte, index) => byte === other[index]);
}
