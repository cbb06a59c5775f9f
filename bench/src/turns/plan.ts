import type { ModelScript, ModelServerRequest, ModelStep } from '@uswarm/dev-servers';
import { textOf } from '@uswarm/dev-servers';

/** The model's actions in a turn. The user's message contains them. */
export interface TurnPlan {
  /** Identifies the turn in observations. */
  id: string;
  /** The number of steps that call the tool, before the final answer. */
  calls: number;
  tool: 'web_search_tool' | 'remember';
  /**
   * The number of tasks that the first step gives to sub-agents, each with as many chunks as the final answer. Default:
   * none.
   */
  tasks?: number;
  /** The first request after a tool result is not answered. */
  stalls: boolean;
  /** Chunks in the final answer, a token each. */
  chunks: number;
  /** Milliseconds between two chunks. */
  paceMs: number;
}

const CHUNK = ' word';
const PREFIX = 'Follow this plan: ';

export const messageOf = (plan: TurnPlan): string => `${PREFIX}${JSON.stringify(plan)}`;

/** A request to the model: its turn's plan, and the number of tool results in it. */
export interface PlannedRequest {
  plan: TurnPlan;
  results: number;
}

/** @returns undefined for a request without a plan */
export function plannedRequest({ messages }: Pick<ModelServerRequest, 'messages'>): PlannedRequest | undefined {
  const texts = messages.map(({ role, content }) => (role === 'user' ? textOf(content) : ''));
  const at = texts.findLastIndex((text) => text.includes(PREFIX));
  const [, json] = /Follow this plan: (\{[^{}]*\})/.exec(texts[at]?.slice(texts[at].lastIndexOf(PREFIX)) ?? '') ?? [];
  if (json === undefined) return undefined;
  return {
    plan: JSON.parse(json) as TurnPlan,
    results: messages.slice(at).filter(({ role }) => role === 'tool').length,
  };
}

/** A search query: it identifies the turn and the step. */
const queryOf = ({ plan, results }: PlannedRequest): string => `${plan.id} ${results}`;

function toolCall(request: PlannedRequest): ModelStep {
  const { plan, results } = request;
  const input = plan.tool === 'remember' ? { key: plan.id, content: 'A memory.' } : { query: queryOf(request) };
  return { toolCalls: [{ name: plan.tool, arguments: input, id: `call-${results}` }] };
}

const AGENTS = ['researcher', 'analyst', 'writer', 'coder'];

/** The model's actions in a turn's task. */
export const taskPlan = ({ tasks: _, ...plan }: TurnPlan, task: number): TurnPlan => ({
  ...plan,
  id: `${plan.id}-${task}`,
});

const delegations = (plan: TurnPlan): ModelStep => ({
  toolCalls: Array.from({ length: plan.tasks ?? 0 }, (_, n) => ({
    name: 'delegate',
    arguments: { agent: AGENTS[n % AGENTS.length], task: messageOf(taskPlan(plan, n)), expected: 'An answer' },
    id: `task-${n}`,
  })),
});

/** Follows the plans. `onRequest` is called for each request with a plan. */
export function createPlanScript(onRequest: (request: PlannedRequest, index: number) => void): ModelScript {
  const seen = new Set<string>();
  return (received, index) => {
    const request = plannedRequest(received);
    if (request === undefined) return [{ text: 'Hello.' }];
    onRequest(request, index);
    const { plan, results } = request;
    const isFirst = !seen.has(queryOf(request));
    seen.add(queryOf(request));
    if (plan.stalls && results > 0 && isFirst) return [{ text: 'I am thinking.' }, { hang: true }];
    if (results < (plan.tasks ?? 0)) return [delegations(plan)];
    if (results < plan.calls) return [{ text: `Step ${results}. ` }, toolCall(request)];
    const pause: ModelStep[] = plan.paceMs === 0 ? [] : [{ delayMs: plan.paceMs }];
    return Array.from({ length: plan.chunks }, (): ModelStep[] => [{ text: CHUNK }, ...pause]).flat();
  };
}
