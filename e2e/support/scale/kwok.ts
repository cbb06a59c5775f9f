import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const execute = promisify(execFile);

/** Its go.mod pins the version, its go.sum the checksums. */
const MODULE = path.resolve(import.meta.dirname, '../../../hack/kwok');
const NAME = 'sigs.k8s.io/kwok';
/** The stages for fast nodes and pods in the module of kwok. */
const STAGES = ['node/fast', 'node/heartbeat-with-lease', 'pod/fast'].map((name) => `kustomize/stage/${name}`);
const BUILD_DEADLINE_MS = 20 * 60_000;

/** kwok simulates kubelets. */
export interface Kwok {
  program: string;
  /** File with node and pod stages. */
  stages: string;
}

/** Builds kwok with Go into the user cache, once; takes about two minutes. @throws Error */
export async function kwok(): Promise<Kwok> {
  const cache = path.join(process.env['XDG_CACHE_HOME'] || path.join(homedir(), '.cache'), 'uswarm');
  const folder = path.join(cache, `kwok-${await pinnedVersion()}`);
  if (!existsSync(folder)) await buildInto(cache, folder);
  return { program: path.join(folder, 'kwok'), stages: path.join(folder, 'stages.yaml') };
}

async function pinnedVersion(): Promise<string> {
  const pinned = new RegExp(`^require ${NAME} (\\S+)$`, 'm').exec(await readFile(path.join(MODULE, 'go.mod'), 'utf8'));
  if (pinned?.[1] === undefined) throw new Error(`${MODULE}/go.mod does not name ${NAME}`);
  return pinned[1];
}

/** Renames the complete folder into place; of two concurrent builds the second finds it. */
async function buildInto(cache: string, folder: string): Promise<void> {
  await mkdir(cache, { recursive: true });
  const draft = await mkdtemp(`${folder}.`);
  try {
    const build = ['build', '-trimpath', '-buildvcs=false', '-ldflags', '-s -w', '-o', path.join(draft, 'kwok')];
    await go([...build, `${NAME}/cmd/kwok`]);
    const source = (await go(['list', '-m', '-f', '{{.Dir}}', NAME])).trim();
    await writeFile(path.join(draft, 'stages.yaml'), await stagesOf(source));
    await rename(draft, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

async function stagesOf(source: string): Promise<string> {
  const documents: string[] = [];
  for (const folder of STAGES) {
    for (const name of (await readdir(path.join(source, folder))).toSorted()) {
      if (!name.endsWith('.yaml') || name === 'kustomization.yaml') continue;
      documents.push(await readFile(path.join(source, folder, name), 'utf8'));
    }
  }
  return documents.join('\n---\n');
}

async function go(args: readonly string[]): Promise<string> {
  const options = { cwd: MODULE, env: { ...process.env, CGO_ENABLED: '0' }, timeout: BUILD_DEADLINE_MS };
  try {
    return (await execute('go', args, options)).stdout;
  } catch (error) {
    const { code, stderr = '' } = error as { code?: unknown; stderr?: string };
    const why = code === 'ENOENT' ? 'it needs Go, https://go.dev/doc/install' : stderr.slice(-2_000);
    throw new Error(`kwok could not be built: ${why}`, { cause: error });
  }
}
