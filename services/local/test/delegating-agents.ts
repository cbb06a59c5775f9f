import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect } from '@jest/globals';
import type { MessageContent, MessageData } from '@uswarm/contract';
import {
  type ModelServer,
  type ModelServerRequest,
  type ModelStep,
  startModelServer,
  textOf as contentText,
} from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { modelSettings } from './model-settings.js';
import { type SeparateServices, startSeparateServices } from './separate.js';

/** The model's next step for an agent: `results` are its tool results so far. */
export type Behaviour = (agent: string, prompt: string, results: readonly string[]) => ModelStep[];

const textOf = ({ content }: ModelServerRequest['messages'][number]): string => contentText(content);

export const delegate = (...agents: string[]): ModelStep[] => [
  {
    toolCalls: agents.map((agent) => ({
      name: 'delegate',
      arguments: { agent, task: `Find facts for ${agent}`, expected: 'One sentence', context: 'A test' },
    })),
  },
];

export const isTask = (prompt: string): boolean => prompt.includes('You work on a task of your colleague');

type Delegation = Extract<MessageContent, { type: 'delegation' }> & { id: string };

export interface DelegatingAgents {
  model: ModelServer;
  services: SeparateServices;
  client: TestClient;
  /** Set by each test. */
  behave: Behaviour;
  /** The agents that called the model, in order. */
  calls: string[];
  /** The conversation's messages, oldest first. */
  listed(): Promise<MessageData[]>;
  delegations(): Promise<Delegation[]>;
  /** Waits for a delivered answer with this text. */
  answer(text: string): Promise<unknown>;
  /**
   * Checks that no turn in the workspace exceeds its budget by more than one call, together with its tasks.
   *
   * @returns the number of tasks, and whether the answer has tokens left
   */
  budgets(): Promise<{ tasks: number; left: boolean }>;
  /** Waits until no turn, task or agent activity is unfinished. */
  expectNothingLeft(): Promise<void>;
}

interface TurnOfTree {
  id: string;
  parent: string | null;
  isTask: boolean;
  budget: string | null;
  used: string;
  largest: string;
}

/** Services with a scripted model, and a new user for each test. Call it within `describe`. */
export function useDelegatingAgents(environment: Record<string, string> = {}): DelegatingAgents {
  const world = {} as DelegatingAgents;
  beforeAll(async () => {
    world.model = await startModelServer({
      script: ({ messages }) => {
        const agent = /\(@([\w-]+)\)/.exec(textOf(messages[0]!))?.[1] ?? '';
        world.calls.push(agent);
        const prompt = textOf(messages.findLast(({ role }) => role === 'user')!);
        const results = messages.filter(({ role }) => role === 'tool').map(textOf);
        return world.behave(agent, prompt, results);
      },
    });
    world.services = await startSeparateServices({
      ...modelSettings(world.model),
      SUMMARY_WORKERS: '0',
      ...environment,
    });
  });
  beforeEach(async () => {
    world.client?.close();
    world.calls = [];
    const token = await world.services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    world.client = await startTestClient({ ...world.services, token, eventDeadlineMs: 15_000 });
  });
  afterAll(async () => {
    world.client?.close();
    await world.services?.close();
    await world.model?.close();
  });

  async function listed(): Promise<MessageData[]> {
    const { api, workspaceId, conversationId } = world.client;
    const path = `/v1/workspaces/${workspaceId}/conversations/${conversationId}/messages`;
    return ((await api('GET', `${path}?direction=forward`)).body as { data: MessageData[] }).data;
  }

  async function budgets() {
    const turns = await world.services.query<TurnOfTree & { [column: string]: unknown }>(
      `SELECT t.id, d.parent_turn_id AS parent, task.turn_id IS NOT NULL AS "isTask", t.tokens_budget AS budget,
         coalesce(sum(e.prompt_tokens + e.completion_tokens), 0) AS used,
         coalesce(max(e.prompt_tokens + e.completion_tokens), 0) AS largest
       FROM turns t LEFT JOIN turn_tasks task ON task.turn_id = t.id LEFT JOIN delegations d ON d.turn_id = t.id
         LEFT JOIN usage_entries e ON e.turn_id = coalesce(t.first_turn_id, t.id) AND e.kind = 'step'
       WHERE t.workspace_id = $1 GROUP BY t.id, d.turn_id, task.turn_id ORDER BY t.id DESC`,
      [world.client.workspaceId],
    );
    const usedBy = (id: string): number =>
      turns.reduce((sum, one) => {
        if (one.id === id) return sum + Number(one.used);
        return one.parent === id ? sum + usedBy(one.id) : sum;
      }, 0);
    const largest = Math.max(...turns.map((one) => Number(one.largest)));
    const exceeded = turns.filter(({ id, budget }) => budget === null || usedBy(id) >= Number(budget) + largest);
    expect(exceeded).toEqual([]);
    // The newest one: the turn that continued, if the tasks had not ended before it was suspended.
    const answering = turns.find((one) => !one.isTask);
    const left = answering !== undefined && Number(answering.budget) > usedBy(answering.id);
    return { tasks: turns.filter(({ parent }) => parent !== null).length, left };
  }

  async function expectNothingLeft(): Promise<void> {
    const left = () =>
      world.services.query(
        `SELECT 'turn' AS kind, status FROM turns WHERE workspace_id = $1 AND status IN ('queued', 'running')
         UNION ALL SELECT 'delegation', d.status FROM delegations d JOIN turns t ON t.id = d.turn_id
           WHERE t.workspace_id = $1 AND d.status = 'running'
         UNION ALL SELECT slug, activity FROM agents WHERE workspace_id = $1 AND activity NOT IN ('online', 'error')`,
        [world.client.workspaceId],
      );
    await eventually(async () => (await left()).length === 0, { timeoutMs: 20_000 }).catch(() => undefined);
    expect(await left()).toEqual([]);
  }

  return Object.assign(world, {
    listed,
    delegations: async () =>
      (await listed()).flatMap(({ id, content }) => (content.type === 'delegation' ? [{ id, ...content }] : [])),
    answer: (text: string) =>
      world.client.saw('message.updated', ({ message }: { message: MessageData }) => {
        const { content, status } = message;
        return content.type === 'text' && content.text === text && status === 'delivered';
      }),
    budgets,
    expectNothingLeft,
  });
}
