import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { programFile } from '@uswarm/testkit/program-file';
import { buildPreviousProgram } from './previous-release.js';

const CURRENT = programFile('services/agent-runtime/dist/main.js');

/** A runtime program that can be replaced while it runs. A process that is started afterwards is the other one. */
export interface ReplaceableRuntime {
  /** The value of RUNTIME_PROGRAM. */
  program: string;
  /** Replaces the previous release's runtime by the current one. */
  replace(): Promise<void>;
  remove(): Promise<void>;
}

/** Builds the previous release's runtime from its sources. */
export async function buildPreviousRuntime(): Promise<ReplaceableRuntime> {
  const folder = await mkdtemp(path.join(tmpdir(), 'uswarm-replaceable-'));
  const previous = await buildPreviousProgram('agent-runtime');
  const program = path.join(folder, 'runtime.mjs');
  const use = (main: string): Promise<void> => writeFile(program, `await import(${JSON.stringify(main)});\n`);
  await use(previous.main);
  return {
    program,
    replace: () => use(CURRENT),
    async remove() {
      await previous.remove();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
