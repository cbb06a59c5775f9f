import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { type Go, goProgram, type GoProgram, hashOfFolder } from '@uswarm/dev-servers';

/** How a version of Argo CD treats an object. */
export interface ArgoVerdict {
  /** True if a sync applies it as part of the application. */
  synced: boolean;
  /** The sync phases in which it runs as a hook. */
  syncPhases: string[];
  /** True if it runs as a hook before or after the Application's objects are deleted. */
  preDelete: boolean;
  postDelete: boolean;
  deletePolicies: string[];
}

/** 2.14 compares annotations exactly, 3.3 supports PreDelete, 3.5 splits lists. */
export const ARGO_VERSIONS = ['2.14', '3.3', '3.5'] as const;
export type ArgoVersion = (typeof ARGO_VERSIONS)[number];

const ENGINE = 'github.com/argoproj/gitops-engine';
/** The source folders and their modules. Versions from 3.3 on do not publish their engine. */
const SOURCES = [
  {
    name: 'v214',
    engine: `${ENGINE}@v0.7.1-0.20250521000818-c08b0a72c1f1`,
    argo: 'github.com/argoproj/argo-cd/v2@v2.14.21',
  },
  {
    name: 'v33',
    engine: `${ENGINE}@v0.7.1-0.20251006172252-b89b0871b414`,
    argo: 'github.com/argoproj/argo-cd/v3@v3.3.0',
  },
  {
    name: 'v35',
    engine: `${ENGINE}@v0.7.1-0.20251006172252-b89b0871b414`,
    argo: 'github.com/argoproj/argo-cd/v3@v3.5.7',
  },
] as const;

const folder = fileURLToPath(new URL('../../../hack/argocd/', import.meta.url));

/** Copies the sources of Argo CD that recognize hooks into the module. */
async function prepare(go: Go, module: string): Promise<void> {
  const download = async (name: string): Promise<string> =>
    (JSON.parse(await go(['mod', 'download', '-json', name])) as { Dir: string }).Dir;
  for (const { name, engine, argo } of SOURCES) {
    const from = [await download(engine), await download(argo)];
    await go(['run', './assemble', ...from, join(module, name), `uswarm.dev/argocd/${name}`], module);
  }
}

const program = (): GoProgram => ({
  name: 'argocd',
  version: hashOfFolder(folder, SOURCES),
  from: { folder, prepare },
  purpose: "Argo CD's decisions on hooks",
});

/** Returns how Argo CD's code treats the objects, in their order. The first call builds a program in a minute. */
export async function askArgoCd(objects: readonly object[]): Promise<Record<ArgoVersion, ArgoVerdict[]>> {
  const child = spawn(await goProgram(program()), [], { stdio: ['pipe', 'pipe', 'pipe'], timeout: 60_000 });
  child.stdin.on('error', () => undefined).end(JSON.stringify(objects));
  const [output, errors] = await Promise.all([text(child.stdout), text(child.stderr)]);
  if (errors !== '') throw new Error(`the hooks of Argo CD: ${errors}`);
  return JSON.parse(output) as Record<ArgoVersion, ArgoVerdict[]>;
}
