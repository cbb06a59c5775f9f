import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream, existsSync, readdirSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createZstdDecompress } from 'node:zlib';
import { cacheFolder, withInstallLock } from '@uswarm/dev-servers';

export interface KubePrograms {
  /** Every Kubernetes program; the first argument selects one. */
  kube: string;
  etcd: string;
}

/** Smaller ones are manifests. */
const SMALLEST_LAYER = 1024 * 1024;
const UNPACK_DEADLINE_MS = 5 * 60_000;

/** The node image that `npm run e2e` built, if it did. */
export function cachedNodeImage(root = join(cacheFolder(), 'cluster')): string | undefined {
  if (!existsSync(root)) return undefined;
  const images = readdirSync(root).map((key) => join(root, key, 'node-image.tar.zst'));
  return images.find((file) => existsSync(file));
}

/** Unpacks kube and etcd from the node image beside it; the first call takes some seconds. */
export async function kubePrograms(image: string): Promise<KubePrograms> {
  const folder = join(image, '..', 'programs');
  await withInstallLock(
    `${folder}.lock`,
    async () => {
      if (!existsSync(folder)) await unpackInto(folder, image);
    },
    { waitMs: UNPACK_DEADLINE_MS },
  );
  return { kube: join(folder, 'kube'), etcd: join(folder, 'etcd') };
}

async function unpackInto(folder: string, image: string): Promise<void> {
  const work = await mkdtemp(`${folder}.`);
  try {
    await tar(['-x', '-C', work, '--wildcards', '*/layer.tar'], image);
    const files = join(work, 'files');
    await mkdir(files);
    for (const layer of await find(work, (name) => name.endsWith('layer.tar'))) {
      await tar(['-x', '-f', layer, '-C', files, '--wildcards', '*usr/bin/kube', '*/blobs/sha256/*']).catch(ignore);
    }
    // etcd is in a container image within the node image.
    for (const blob of await find(files, (name) => name.includes('/blobs/'))) {
      if ((await stat(blob)).size < SMALLEST_LAYER) continue;
      await tar(['-x', '-f', blob, '-C', files, '--wildcards', '*usr/local/bin/etcd']).catch(ignore);
    }
    const programs = join(work, 'programs');
    await mkdir(programs);
    for (const name of ['kube', 'etcd']) {
      const [found] = await find(files, (file) => file.endsWith(`/bin/${name}`));
      if (found === undefined) throw new Error(`${image} does not contain ${name}`);
      await rename(found, join(programs, name));
    }
    await rename(programs, folder);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** tar fails if an archive contains none of the files. */
const ignore = (): void => undefined;

async function find(folder: string, matches: (file: string) => boolean): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter(matches);
}

/** @param input zstd-compressed archive for standard input */
async function tar(args: string[], input?: string): Promise<void> {
  const child = spawn('tar', args, { stdio: ['pipe', 'ignore', 'pipe'] });
  let problem = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (problem += text));
  const closed = once(child, 'close');
  if (input === undefined) child.stdin.end();
  else await pipeline(createReadStream(input), createZstdDecompress(), child.stdin);
  const [code] = (await closed) as [number];
  if (code !== 0) throw new Error(`tar failed: ${problem.trim()}`);
}
