import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { byTier } from '@uswarm/testkit/tier';
import { stop } from 'esbuild';
import { bundleClient, changedSources } from '../test/bundle.js';
import type { Mutant } from './mutants/mutant.js';
import { MUTANTS } from './mutants/index.js';
import { runScenarios } from './run.js';
import { SCENARIOS } from './scenarios/index.js';

const byName = (name: string) => SCENARIOS.find((scenario) => scenario.name === name);
let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'uswarm-mutants-'));
});
afterAll(async () => {
  await stop();
  rmSync(folder, { recursive: true, force: true });
});

/** @returns the named scenarios that the mutant passes */
async function survived({ name, edits, fails, transport = 'socket' }: Mutant): Promise<string[]> {
  const file = join(folder, `${name.replaceAll(/\W/g, '-')}.mjs`);
  await bundleClient(file, edits);
  const scenarios = fails.map(byName).filter((scenario) => scenario !== undefined);
  const command = [process.execPath, file];
  const results = await runScenarios(scenarios, { command, cwd: folder, transport, jobs: 4, patienceMs: 3_000 });
  return results.filter(({ passed }) => passed).map(({ scenario }) => `${name}: ${scenario}`);
}

describe('the mutants of @uswarm/client', () => {
  it('name each scenario', () => {
    const named = new Set(MUTANTS.flatMap(({ fails }) => fails));
    expect(SCENARIOS.filter(({ name }) => !named.has(name)).map(({ name }) => name)).toEqual([]);
  });

  it('name scenarios of their transport', () => {
    const wrong = MUTANTS.flatMap(({ fails, transport = 'socket' }) =>
      fails.filter((name) => {
        const scenario = byName(name);
        return scenario === undefined || (scenario.only ?? transport) !== transport;
      }),
    );
    expect(wrong).toEqual([]);
  });

  it('apply to the sources of the client', () => {
    for (const { edits } of MUTANTS) expect(() => changedSources(edits)).not.toThrow();
  });

  // Each kind of fault; all of them with `--all`.
  it('fail the scenarios that they name', async () => {
    const waiting = [...byTier({ core: MUTANTS.filter((_, index) => index % 6 === 0), all: MUTANTS })];
    const passed: string[] = [];
    const work = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift())
        passed.push(...(await survived(next)));
    };
    await Promise.all([work(), work(), work(), work()]);
    expect(passed).toEqual([]);
  });
});
