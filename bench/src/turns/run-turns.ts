import { fileURLToPath } from 'node:url';
import type { CloseStack } from '@uswarm/service-kit';
import { measureStart } from '../runtime/measure-start.js';
import type { RuntimeImage } from '../runtime/start-cases.js';
import { measureDelegations } from './measure-delegations.js';
import { measureChoices, measureKills, measureLoad, measureSteps, measureStops } from './measure-turns.js';
import type { TurnFigures } from './turn-tables.js';
import { startTurnWorld } from './turn-world.js';

const FOLDER = fileURLToPath(new URL('../../../.cache/bench-turns', import.meta.url));

/** Measurements per event. */
export interface TurnSettings {
  /** Turns with `calls` steps each, after turns that do not count. */
  turns: number;
  calls: number;
  warmUps: number;
  stops: number;
  starts: number;
  /** Turns whose runtime is killed `kills` times each. */
  killedTurns: number;
  kills: number;
  choices: number;
  /** Answers with tasks for sub-agents, and the chunks of each task that streams. */
  delegations: { answers: number; chunks: number };
  loadSeconds: number;
}

export const TURNS: TurnSettings = {
  turns: 25,
  calls: 20,
  warmUps: 5,
  stops: 30,
  starts: 5,
  killedTurns: 3,
  kills: 10,
  choices: 30,
  delegations: { answers: 30, chunks: 400 },
  loadSeconds: 30,
};
export const FEW_TURNS: TurnSettings = {
  turns: 2,
  calls: 5,
  warmUps: 1,
  stops: 2,
  starts: 1,
  killedTurns: 1,
  kills: 2,
  choices: 2,
  delegations: { answers: 2, chunks: 20 },
  loadSeconds: 3,
};

/** Measures turns with tools, stops, crashes and approvals: orchestrator and runtimes are the programs of production. */
export async function measureTurns(
  settings: TurnSettings,
  image: RuntimeImage,
  stack: CloseStack,
  say: (line: string) => void,
): Promise<TurnFigures> {
  say('Starting Postgres, Valkey, the orchestrator and five runtimes');
  const world = await startTurnWorld(image.main, FOLDER, stack);
  say(
    `Steps with a tool: ${settings.turns} turns with ${settings.calls} steps, after ${settings.warmUps} that do not count`,
  );
  const steps = await measureSteps(world, settings);
  say(`Stops: ${settings.stops}`);
  const stops = await measureStops(world, settings.stops);
  say(`Choices: ${settings.choices}`);
  const choices = await measureChoices(world, settings.choices);
  say(`Answers with tasks for sub-agents: ${settings.delegations.answers}`);
  const delegations = await measureDelegations(world, settings.delegations);
  say(`Starts of a runtime: ${settings.starts}`);
  const starts: number[] = [];
  for (let n = 0; n < settings.starts; n += 1) {
    const args = ['--enable-source-maps', image.main];
    starts.push((await measureStart({ name: 'runtime', args, env: image.settings })).listeningMs);
  }
  say(`Kills: ${settings.killedTurns} turns with ${settings.kills} kills`);
  const kills = await measureKills(world, settings.killedTurns, settings.kills);
  say(`Event-loop lag under load: ${settings.loadSeconds} seconds`);
  const load = await measureLoad(world, settings.loadSeconds);
  return { steps, stops, starts, kills, choices, delegations, load };
}
