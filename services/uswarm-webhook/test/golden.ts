import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const folder = join(import.meta.dirname, 'golden');

/**
 * Returns a golden file's content with its key order. UPDATE_GOLDEN=1 first replaces the file with `rendered`; format
 * the file afterwards.
 */
export function golden(name: string, rendered: unknown): string {
  const file = join(folder, `${name}.json`);
  if (process.env['UPDATE_GOLDEN'] === '1') {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${JSON.stringify(rendered, null, 2)}\n`);
  }
  return JSON.stringify(JSON.parse(readFileSync(file, 'utf8')));
}
