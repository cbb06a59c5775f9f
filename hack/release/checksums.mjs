import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Writes `SHA256SUMS` for all files in the folder, which `sha256sum --check` reads. @returns its path */
export function writeChecksums(folder) {
  const file = join(folder, 'SHA256SUMS');
  const names = readdirSync(folder, { recursive: true })
    .filter((name) => statSync(join(folder, name)).isFile() && !name.startsWith('SHA256SUMS'))
    .toSorted();
  const lines = names.map(
    (name) =>
      `${createHash('sha256')
        .update(readFileSync(join(folder, name)))
        .digest('hex')}  ${name}`,
  );
  writeFileSync(file, `${lines.join('\n')}\n`);
  return file;
}
