import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { HistoryRole, type TurnEvent } from '@uswarm/runtime-proto';
import { startModelServer, words } from '@uswarm/dev-servers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { buildRuntime, type RuntimeProcess, startRuntimeProcess } from '../test/runtime-process.js';

const writeContent = fileURLToPath(new URL('../../../hack/images/write-content.mjs', import.meta.url));

async function answer({ runtime }: RuntimeProcess): Promise<string> {
  const history = [{ role: HistoryRole.USER, text: 'Hello' }];
  const agent = { id: 'a', slug: 'manager', name: 'Mara', model: 'flash' };
  const events: TurnEvent['event'][] = [];
  const turn = { turnId: 't', generation: 1, agent, history, firstStep: 1 };
  for await (const { event } of runtime.runTurn(turn)) events.push(event);
  const done = events.at(-1);
  return done?.case === 'done' ? done.value.text : 'no done';
}

describe('the runtime in its image', () => {
  let folder: string;
  beforeAll(async () => {
    await buildRuntime();
    folder = await mkdtemp(path.join(tmpdir(), 'uswarm-runtime-'));
    await promisify(execFile)(process.execPath, [writeContent, 'agent-runtime', folder]);
  });
  afterAll(() => rm(folder, { recursive: true }));

  const start = (env: Record<string, string>) => startRuntimeProcess(env, path.join(folder, 'app'));

  it('reports its version and runs a turn with the demo provider', async () => {
    const running = await start({});
    try {
      expect((await running.runtime.identify({})).version).toMatch(/^\d+\.\d+\.\d+$/);
      expect(await answer(running)).toMatch(/^\[demo\] /);
    } finally {
      await running.end();
    }
  });

  it('loads the model provider with the first turn', async () => {
    const model = await startModelServer({ script: () => words('Good morning.') });
    const running = await start({ OPENAI_BASE_URL: model.baseUrl, OPENAI_API_KEY: 'key', OPENAI_MODEL: 'm' });
    try {
      expect(await answer(running)).toBe('Good morning.');
    } finally {
      await running.end();
      await model.close();
    }
  });
});
