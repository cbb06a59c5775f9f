import { expect, it } from '@jest/globals';
import { latencyOf } from '../load/percentiles.js';
import { faultsResult } from './faults-part.js';
import { questionResult } from './question-part.js';
import { restartResult } from './restart-part.js';
import { resumeResult } from './resume-part.js';
import { socketsResult } from './sockets-part.js';
import { stalledResult } from './stalled-part.js';
import { takeoverResult } from './takeover-part.js';
import { webhooksResult } from './webhooks-part.js';

const met = ({ goals }: { goals: readonly (readonly [string, string, boolean])[] }): boolean[] =>
  goals.map(([, , isMet]) => isMet);

it('judges the memory of sockets of uswarm by the number of workspaces, and not that of bare servers', () => {
  const idle = { atRestKiB: 50, perSecond: 1, cpuMs: 1, restCores: 0 };
  const result = socketsResult([
    { ...idle, server: 'uswarm', workspaces: 1, collectedKiB: 33 },
    { ...idle, server: 'uswarm', workspaces: 5, collectedKiB: 39 },
    { ...idle, server: 'ws', workspaces: 1, collectedKiB: 99 },
  ]);
  expect(met(result)).toEqual([false, true]);
});

it('judges what a stalled socket adds, and the latency of the others relative to a run without it', () => {
  const result = stalledResult([
    { server: 'uswarm', moreMiB: 1.9, p99: 12, usualP99: 10 },
    { server: 'socket.io', moreMiB: 60, p99: 12, usualP99: 10 },
  ]);
  expect(met(result)).toEqual([true, false]);
});

it('judges resumes by their 99th percentile', () => {
  const result = resumeResult([
    { events: 100, latency: latencyOf([10, 200]) },
    { events: 2_000, latency: latencyOf([10, 200]) },
  ]);
  expect(met(result)).toEqual([false, true]);
});

it('judges a restart by lost sockets, missing events, statements and the longest outage', () => {
  const restart = { name: '', sockets: 2, outage: latencyOf([1_000, 11_000]), allBackMs: 61_000, lost: 1, behind: 2 };
  const dead = { ...restart, statementsPerSocket: 1.1 };
  expect(met(restartResult({ dead, rolling: restart, peer: restart }))).toEqual(Array(6).fill(false));
});

it('judges the median of questions, and of their bytes only the chunks', () => {
  const question = { statements: 40, transactions: 9, most: [], publications: 130, bus: 12, busChunks: 7 };
  const questions = [{ ...question, socket: 9, socketChunks: 6.1 }];
  const concurrent = { statements: 46, transactions: 9 };
  expect(met(questionResult({ questions, concurrent, restPerS: 3, peers: [] }))).toEqual([
    true,
    true,
    false,
    true,
    false,
    true,
    false,
    true,
  ]);
});

it('judges lost events and takeovers by the slowest one, and takeovers by their model calls', () => {
  expect(met(faultsResult({ last: [1, 16_000], followed: [1] }))).toEqual([false, true]);
  const takeovers = [
    { signal: 'SIGKILL', ms: 12_000, modelCalls: 1 },
    { signal: 'SIGSTOP', ms: 16_000, modelCalls: 2 },
  ] as const;
  expect(met(takeoverResult(takeovers))).toEqual([true, false, false]);
});

it('judges webhooks by the slowest percent, and the relay relative to a run without webhooks', () => {
  const times = { without: latencyOf([10]), with: latencyOf([12]), webhook: latencyOf([10, 900]) };
  expect(met(webhooksResult({ ...times, backgroundPerS: 1_000 }))).toEqual([true, false]);
});
