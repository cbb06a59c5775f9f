import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@redis/client';
import type { CloseStack } from '@uswarm/service-kit';
import { median } from '../load/percentiles.js';
import { atMost } from '../report/goals.js';
import { messageOf } from '../turns/plan.js';
import { createCommandSplitter, createFrameSplitter } from './message-sizes.js';
import { UswarmClient } from './clients/uswarm-client.js';
import { type Counted, countStatements } from './count-statements.js';
import { measurePeerBytes, type PeerBytes } from './measure-peer-bytes.js';
import type { PartResult, RealtimePart } from './part.js';
import { PEERS } from './peers.js';
import { redirect, startTapProxy } from './tap-proxy.js';
import { startTurnCluster } from './turn-cluster.js';

const FULL = { tokens: 1_000, rounds: 2 };
const SMALL = { tokens: 50, rounds: 1 };
/** 50 tokens per second. */
const PACE_MS = 20;
/** A plan token. */
const TOKEN_BYTES = 5;
const CHUNK_EVENT = '"message.chunk"';
/** Questions at the same time, each in its own conversation. */
const CONCURRENT = 20;
/** Longer than the interval of each heartbeat. */
const REST_MS = 16_000;
/** After an answer, until its last statements were sent. */
const SETTLE_MS = 500;
const GOALS = { statements: 45, transactions: 9, publications: 120, bus: 8, socket: 6, restPerS: 4 };

interface Question extends Counted {
  /** Calls of SPUBLISH. */
  publications: number;
  /** Bytes sent to Valkey and to the socket per text byte: in total, and in chunks. */
  bus: number;
  busChunks: number;
  socket: number;
  socketChunks: number;
}

export interface QuestionFigures {
  questions: readonly Question[];
  /** Of each of `CONCURRENT` questions at the same time. */
  concurrent: Pick<Counted, 'statements' | 'transactions'>;
  restPerS: number;
  peers: readonly PeerBytes[];
}

/** @returns how often SPUBLISH was called */
async function readPublications(redisUrl: string, stack: CloseStack): Promise<() => Promise<number>> {
  const redis = createClient({ url: redisUrl });
  await redis.connect();
  stack.defer('statistics', () => redis.close());
  return async () => Number(/cmdstat_spublish:calls=(\d+)/.exec(await redis.info('commandstats'))?.[1] ?? 0);
}

export function questionResult({ questions, concurrent, restPerS, peers }: QuestionFigures): PartResult {
  const of = (pick: (question: Question) => number): number => median(questions.map(pick));
  const [statements, transactions, publications] = [
    of((each) => each.statements),
    of((each) => each.transactions),
    of((each) => each.publications),
  ];
  const [bus, socket] = [of((each) => each.bus), of((each) => each.socket)];
  const [busChunks, socketChunks] = [of((each) => each.busChunks), of((each) => each.socketChunks)];
  return {
    heads: ['server', 'statements', 'transactions', 'SPUBLISH', 'bus / text', 'socket / text'],
    rows: [
      ['uswarm', String(statements), String(transactions), String(publications), bus.toFixed(1), socket.toFixed(1)],
      [
        `uswarm, each of ${CONCURRENT} at a time`,
        concurrent.statements.toFixed(1),
        concurrent.transactions.toFixed(1),
        '-',
        '-',
        '-',
      ],
      ['uswarm, chunks only', '-', '-', '-', busChunks.toFixed(1), socketChunks.toFixed(1)],
      ...peers.map((peer) => [
        `${peer.server}, an event per token`,
        '-',
        '-',
        '-',
        peer.bus.toFixed(1),
        peer.socket.toFixed(1),
      ]),
    ],
    goals: [
      atMost('question and answer: statements', statements, GOALS.statements, ''),
      atMost('question and answer: transactions', transactions, GOALS.transactions, ''),
      atMost(`each of ${CONCURRENT} questions at a time: statements`, concurrent.statements, GOALS.statements, ''),
      atMost(
        `each of ${CONCURRENT} questions at a time: transactions`,
        concurrent.transactions,
        GOALS.transactions,
        '',
      ),
      atMost('question and answer: SPUBLISH', publications, GOALS.publications, ''),
      atMost('bytes of the chunks to Valkey', busChunks, GOALS.bus, '× the text'),
      atMost('bytes of the chunks to the socket', socketChunks, GOALS.socket, '× the text'),
      atMost('statements at rest per replica', restPerS, GOALS.restPerS, '/s'),
    ],
    figures: { questions, concurrent, restPerS, peers },
  };
}

/** Measures a question with a streamed answer and no tool. */
export const questionPart: RealtimePart = {
  name: 'question',
  title: `A question with an answer of ${FULL.tokens} tokens at ${1_000 / PACE_MS} per second`,
  async measure({ folder, small, stack, say }) {
    const { tokens, rounds } = small ? SMALL : FULL;
    const bytes = { bus: 0, busChunks: 0, socket: 0, socketChunks: 0 };
    const add = (to: 'bus' | 'socket') => (size: number, text: string) => {
      bytes[to] += size;
      if (text.includes(CHUNK_EVENT)) bytes[`${to}Chunks`] += size;
    };
    const cluster = await startTurnCluster(
      {
        folder,
        turnWorkers: CONCURRENT,
        conversations: CONCURRENT,
        busTap: () => ({ there: createCommandSplitter(add('bus')) }),
      },
      stack,
    );
    const { user, statements } = cluster;
    const publications = await readPublications(cluster.valkey.url, stack);
    const host = await startTapProxy(
      () => cluster.gatewayUrl,
      () => ({ back: createFrameSplitter(add('socket')) }),
      stack,
    );
    const client = new UswarmClient(
      { ...cluster.spec, url: redirect(cluster.gatewayUrl, host).replace(/\/$/, '') },
      () => undefined,
    );
    await client.open();
    stack.defer('client', async () => client.close());

    const ask = async (id: string, chunks: number, conversation = user.conversations[0] ?? ''): Promise<void> => {
      const plan = { id, calls: 0, tool: 'remember' as const, stalls: false, chunks, paceMs: PACE_MS };
      await cluster.completed(await user.send(conversation, messageOf(plan)));
    };
    await ask('first', 5);
    await sleep(SETTLE_MS);
    statements.take();
    await sleep(REST_MS);
    const atRest = statements.take();
    const restPerS = atRest.length / (REST_MS / 1_000);

    const questions: Question[] = [];
    for (let round = 0; round < rounds; round += 1) {
      const before = { ...bytes, publications: await publications() };
      statements.take();
      await ask(`question-${round}`, tokens);
      await sleep(SETTLE_MS);
      const text = tokens * TOKEN_BYTES;
      questions.push({
        ...countStatements(statements.take(), atRest),
        publications: (await publications()) - before.publications,
        bus: (bytes.bus - before.bus) / text,
        busChunks: (bytes.busChunks - before.busChunks) / text,
        socket: (bytes.socket - before.socket) / text,
        socketChunks: (bytes.socketChunks - before.socketChunks) / text,
      });
    }
    statements.take();
    await Promise.all(user.conversations.map((conversation, n) => ask(`concurrent-${n}`, tokens, conversation)));
    await sleep(SETTLE_MS);
    const together = countStatements(statements.take(), atRest);
    const concurrent = {
      statements: together.statements / user.conversations.length,
      transactions: together.transactions / user.conversations.length,
    };
    for (const [count, text] of questions[0]?.most ?? []) say(`${count} × ${text}`);
    const peers: PeerBytes[] = [];
    for (const peer of PEERS)
      peers.push(await measurePeerBytes(peer, cluster.valkey.url, { tokens, paceMs: PACE_MS }, stack));
    return questionResult({ questions, concurrent, restPerS, peers });
  },
};
