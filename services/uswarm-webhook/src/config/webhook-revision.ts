import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import type { RenderSettings } from '../render/settings.js';

/**
 * Revision of a webhook process: equal for two replicas of one Deployment revision, different if the effective
 * configuration or the program differs.
 *
 * @param probed whether a database is probed, which the status shows
 * @param program what `programDigest` returned
 */
export function webhookRevision(settings: RenderSettings, probed: boolean, program: string): string {
  const lists = (_key: string, value: unknown): unknown => (value instanceof Set ? [...value] : value);
  return digest([JSON.stringify({ settings, probed }, lists), program]);
}

/** A digest of the JavaScript files in a directory, because an image tag can stay the same when the program changes. */
export async function programDigest(directory: string): Promise<string> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile() && /\.[cm]?js$/.test(entry.name))
    .map(({ parentPath, name }) => join(parentPath, name))
    .toSorted();
  const parts = await Promise.all(
    files.map(async (file) => [relative(directory, file), await readFile(file, 'utf8')] as const),
  );
  return digest(parts.flat());
}

function digest(parts: readonly string[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part).update('\0');
  return hash.digest('hex').slice(0, 16);
}
