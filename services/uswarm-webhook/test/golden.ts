import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const folder = join(import.meta.dirname, 'golden');

/**
 * The text of a golden file, in the order of its keys; with UPDATE_GOLDEN=1 it first becomes what was rendered.
 * Format the files afterwards: how they are laid out does not matter here.
 */
export function golden(name: string, rendered: unknown): string {
  const file = join(folder, `${name}.json`);
  if (process.env['UPDATE_GOLDEN'] === '1') {
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${JSON.stringify(rendered, null, 2)}\n`);
  }
  return JSON.stringify(JSON.parse(readFileSync(file, 'utf8')));
}
