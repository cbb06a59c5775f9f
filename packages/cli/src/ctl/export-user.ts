import { createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Export } from '@uswarm/contract';
import { Failure } from '../failure.js';
import type { AdminClient } from './admin-client.js';

const POLL_MS = 2_000;

export interface ExportOptions {
  userId: string;
  reason: string;
  /** Default: the export's date and id, in the current folder. */
  file: string | undefined;
}

/**
 * Waits for a user's data export and writes its archive.
 *
 * @returns the written file, and its export. @throws Failure if it fails or cannot be downloaded
 */
export async function exportUser(
  { userId, reason, file }: ExportOptions,
  admin: Pick<AdminClient, 'call'>,
): Promise<{ file: string; export: Export }> {
  let { export: found } = await admin.call('user.export', { user_id: userId, reason });
  while (found.status === 'pending' || found.status === 'running') {
    await sleep(POLL_MS);
    ({ export: found } = await admin.call('user.export', { user_id: userId, export_id: found.id, reason }));
  }
  if (found.url === null) throw new Failure(`Export ${found.id} has failed. Run the command again to start a new one.`);
  const target = file ?? `uswarm-export-${found.created_at.slice(0, 10)}-${found.id}.zip`;
  await download(found.url, target);
  return { file: target, export: found };
}

/** Does not replace a file, and leaves none if the download fails. */
async function download(url: string, file: string): Promise<void> {
  if (!URL.canParse(url)) throw new Failure(`The orchestrator has no public URL (PUBLIC_URL) for the download: ${url}`);
  const { origin } = new URL(url);
  const response = await fetch(url).catch((cause: unknown) => {
    throw new Failure(`${origin} is unreachable: the archive is downloaded from the public API.`, { cause });
  });
  if (!response.ok || response.body === null)
    throw new Failure(`${origin} answered ${response.status} to the download.`);
  try {
    await pipeline(Readable.fromWeb(response.body), createWriteStream(file, { flags: 'wx', mode: 0o600 }));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST') throw new Failure(`${file} exists: name another file with --out.`, { cause: error });
    await rm(file, { force: true });
    throw new Failure(`${file} could not be written (${code ?? 'the download was cut'}).`, { cause: error });
  }
}
