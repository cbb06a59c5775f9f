import { appendFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@uswarm/testkit/eventually';
import { openSession, type Session } from '../support/index.js';
import { type Nodes, openNodes, placesOf } from '../support/nodes.js';
import { createRollingRelease, everyUserIsAnswered } from '../support/rolling-release.js';
import { podOf, type RuntimeUser } from '../support/rolling-swarms.js';
import { type SteadyUsers, talkSteadily } from '../support/steady-users.js';

const USERS = 4;
const COMPONENTS = ['orchestrator', 'realtime-gateway', 'webhook', 'controller', 'model-gateway', 'searxng-client'];
/** Documented in docs/operations.md. */
const BACK_AFTER_DRAIN_MS = 60_000;
const BACK_AFTER_LOSS_MS = 180_000;

let session: Session;
let nodes: Nodes;
let users: RuntimeUser[];
beforeAll(async () => {
  session = await openSession();
  nodes = openNodes(session);
  users = await createRollingRelease(session).signUp(USERS, { unchecked: true });
});
afterAll(() => session?.close());

const nodeOf = async (user: RuntimeUser): Promise<string | undefined> =>
  (await podOf(session, user.name))?.spec?.nodeName;

/** The worker with the most runtimes, which a test takes away. */
async function busiestWorker(): Promise<string> {
  const places = await Promise.all(users.map(nodeOf));
  const workers = await nodes.workers();
  const count = (node: string): number => places.filter((place) => place === node).length;
  return workers.toSorted((left, right) => count(right) - count(left))[0]!;
}

/** Waits until each user has sent a message after a time, and has its answer. @returns the longest waits since then */
async function allAnsweredAfter(load: SteadyUsers, from: number, at: number) {
  const asked = await eventually(() => load.since(from), {
    description: 'each user has the answer to a newer message',
    until: (all) => users.every(({ name }) => all.some((each) => each.user === name && each.at >= at)),
    timeoutMs: 500_000,
  });
  const longest = (field: 'storedMs' | 'answeredMs'): number => Math.max(...asked.map((each) => each[field]));
  return { storedMs: longest('storedMs'), answeredMs: longest('answeredMs') };
}

async function report(what: string, { storedMs, answeredMs }: { storedMs: number; answeredMs: number }): Promise<void> {
  const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
  const line = `${what}: longest time to store a message ${seconds(storedMs)}, to answer one ${seconds(answeredMs)}\n`;
  await appendFile(path.join(session.settings.artifacts, 'nodes.txt'), line);
}

describe('a release on three nodes in three zones', () => {
  it.each(COMPONENTS)('runs the replicas of %s on different nodes and in different zones', async (component) => {
    const places = [...(await placesOf(session, component)).values()];
    const zones = new Map(
      (await nodes.list()).map(({ metadata }) => [metadata?.name, metadata?.labels?.['topology.kubernetes.io/zone']]),
    );
    expect(places).toHaveLength(2);
    expect(new Set(places.map((place) => zones.get(place))).size).toBe(2);
  });

  it('answers users whose runtimes are on different nodes', async () => {
    const places = new Set(await Promise.all(users.map(nodeOf)));
    expect(places.size).toBeGreaterThan(1);
    await everyUserIsAnswered(users, (nonce) => `Repeat ${nonce}`);
  });
});

describe('a node that is drained while users talk', () => {
  it('loses no message, and each user is answered once and soon', async () => {
    const node = await busiestWorker();
    const load = talkSteadily(users);
    const from = Date.now();
    await nodes.drain(node);
    const longest = await allAnsweredAfter(load, from, Date.now());
    await nodes.uncordon(node);
    expect(await load.stop()).toEqual([]);
    await report('drained node', longest);
    expect(await Promise.all(users.map(nodeOf))).not.toContain(node);
    expect(longest.answeredMs).toBeLessThan(BACK_AFTER_DRAIN_MS);
  });
});

describe('a node that loses power while users talk', () => {
  it('loses no acknowledged message, and each user is answered once within the documented time', async () => {
    const node = await busiestWorker();
    expect(await Promise.all(users.map(nodeOf))).toContain(node);
    const load = talkSteadily(users);
    const from = Date.now();
    await nodes.powerOff(node);
    try {
      await nodes.untilLost(node);
      const longest = await allAnsweredAfter(load, from, Date.now());
      await report('lost node', longest);
      expect(longest.answeredMs).toBeLessThan(BACK_AFTER_LOSS_MS);
    } finally {
      await nodes.powerOn(node);
    }
    // The node's old pods are deleted when it is back, and answer nothing more.
    const after = await allAnsweredAfter(load, Date.now(), Date.now());
    await report('the node is back', after);
    expect(await load.stop()).toEqual([]);
    await Promise.all(users.map(({ name }) => session.ready(name)));
  });
});
