import type { ModelServer } from '@uswarm/dev-servers';
import { estimatePromptTokens, TOKENS_IN_FLIGHT } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import type { SeparateServices } from './separate.js';

/** An estimate of English text is at most this many times the count: see `estimateTokens`. */
const OVERESTIMATE = 1.7;

const RECORDED = `
  SELECT count(*)::int AS calls, coalesce(sum(prompt_tokens), 0)::int AS prompt,
    coalesce(sum(completion_tokens), 0)::int AS completion, (count(*) FILTER (WHERE estimated))::int AS estimated,
    (count(*) FILTER (WHERE reserved AND call_id IS NOT NULL))::int AS unsettled, coalesce(bool_or(call_id IS NOT NULL), false) AS metered
  FROM usage_entries WHERE workspace_id = $1`;

interface Recorded {
  calls: number;
  prompt: number;
  completion: number;
  /** Calls whose response was cut. */
  estimated: number;
  /** Calls that the model gateway has not settled. */
  unsettled: number;
  /** True if the model gateway counts the calls. */
  metered: boolean;
}

/** Compares a workspace's recorded usage with the model server's count since then. */
export interface UsageCheck {
  /** How the usage breaks invariant 8. Empty: not at all. */
  broken(workspaceId: string): Promise<string[]>;
}

/** Begins to compare. Until the check, only one workspace may call the model. */
export function watchUsage(model: ModelServer, { query }: Pick<SeparateServices, 'query'>): UsageCheck {
  const since = { ...model.usageCounted, requests: model.requests.length };
  return {
    async broken(workspaceId) {
      const recorded = await eventually(async () => (await query<Recorded & object>(RECORDED, [workspaceId]))[0]!, {
        until: ({ unsettled }) => unsettled === 0,
      });
      const counted = {
        calls: model.usageCounted.answers - since.answers,
        prompt: model.usageCounted.promptTokens - since.promptTokens,
        completion: model.usageCounted.completionTokens - since.completionTokens,
      };
      const kinds = ['calls', 'prompt', 'completion'] as const;
      const lost = kinds.filter((kind) => recorded[kind] < counted[kind]);
      return [
        ...lost.map((kind) => `${kind}: recorded ${recorded[kind]}, counted ${counted[kind]}`),
        ...(recorded.metered ? overcounted(recorded, counted) : []),
      ];
    },
  };

  /** With the model gateway, only calls that were cut are estimated: by their text, and by what was in flight. */
  function overcounted(recorded: Recorded, counted: Pick<Recorded, 'calls' | 'prompt' | 'completion'>): string[] {
    const prompts = model.requests.slice(since.requests).map(({ raw }) => estimatePromptTokens(JSON.stringify(raw)));
    const { estimated } = recorded;
    const most = {
      calls: counted.calls,
      prompt: counted.prompt + estimated * Math.max(0, ...prompts),
      completion:
        estimated === 0 ? counted.completion : counted.completion * OVERESTIMATE + estimated * TOKENS_IN_FLIGHT,
    };
    const kinds = ['calls', 'prompt', 'completion'] as const;
    const above = kinds.filter((kind) => recorded[kind] > most[kind]);
    return above.map((kind) => `${kind}: recorded ${recorded[kind]}, at most ${most[kind]} expected`);
  }
}
