import type { RunTurnRequest } from '@uswarm/runtime-proto';
import type { Clock } from '@uswarm/service-kit';
import type { AgentContext, Question } from '../agents/agent-context.js';
import type { AgentStore } from '../agents/agents.store.js';
import type { ModelCatalog } from '../core/models.js';
import type { ModelTokens } from '../model-calls/model-tokens.js';
import type { ToolTokens } from '../runtimes/tool-tokens.js';
import type { Reader, UserStore } from '../users/users.store.js';
import type { HistoryRow } from './history.store.js';
import type { Reply } from './reply.js';
import { needsSummary } from '../summaries/summary-need.js';
import type { SummaryStore } from '../summaries/summaries.store.js';
import type { JournalStore } from './journal.store.js';
import { boundedHistory, HISTORY_MESSAGES, turnRequest } from './turn-request.js';
import type { TurnRow, TurnStore } from './turns.store.js';

export interface TurnRequestDeps {
  turns: Pick<TurnStore, 'history' | 'nextStep'>;
  journal: Pick<JournalStore, 'entries'>;
  agents: Pick<AgentStore, 'members'>;
  users: Pick<UserStore, 'reader'>;
  summaries: Pick<SummaryStore, 'find'>;
  /** The agent's current settings, tools and memories. */
  loadAgentContext: (agentId: string, question: Question) => Promise<AgentContext>;
  models: Pick<ModelCatalog, 'limits'>;
  /** Creates the tokens with which the runtime calls tools. */
  toolTokens: ToolTokens;
  /** Creates the tokens with which the runtime calls the model gateway. */
  modelTokens: ModelTokens;
  clock: Clock;
}

/** The number of messages of the user for which memories are chosen. */
const QUESTIONS = 3;
/** The profile if the user was deleted while the turn ran. */
const UNKNOWN_READER: Reader = { name: '', language: '', time_zone: '' };

export interface LoadedRequest {
  request: RunTurnRequest;
  /** Whether older messages need a summary after the turn. */
  needsSummary: boolean;
}

/** Reads everything that a runtime needs for a turn, so that changes of settings apply from the next request. */
export function createTurnRequestLoader(deps: TurnRequestDeps) {
  return async (
    turn: TurnRow,
    reply: Pick<Reply, 'generation' | 'events'>,
    features: readonly string[],
  ): Promise<LoadedRequest> => {
    const summary = await deps.summaries.find(turn.conversation_id);
    const reading = deps.turns.history(turn, HISTORY_MESSAGES, summary?.throughSeq ?? 0);
    const question: Question = async () => newestQuestions(await reading);
    const [members, agentContext, reader, newestFirst, firstStep, journal] = await Promise.all([
      deps.agents.members(turn.workspace_id),
      deps.loadAgentContext(turn.agent_id, question),
      deps.users.reader(turn.user_id),
      reading,
      deps.turns.nextStep(turn.id),
      deps.journal.entries(turn.id),
    ]);
    // An agent without tools needs no token.
    const toolToken = agentContext.tools.length === 0 ? '' : await deps.toolTokens(tokenTurn(turn));
    const modelToken = await deps.modelTokens({ ...tokenTurn(turn), purpose: 'turn' });
    const request = turnRequest({
      turn,
      generation: reply.generation,
      members,
      agentContext,
      features,
      history: boundedHistory(newestFirst),
      summary: summary?.text ?? '',
      limits: deps.models.limits(agentContext.model),
      firstStep,
      journal,
      fromEvent: reply.events,
      toolToken,
      modelToken,
      now: deps.clock.now(),
      reader: reader ?? UNKNOWN_READER,
    });
    return { request, needsSummary: needsSummary(newestFirst) };
  };
}

/** The newest messages of the user: a follow-up question alone may not name its subject. */
const newestQuestions = (newestFirst: readonly HistoryRow[]): string[] =>
  newestFirst.flatMap(({ role, text }) => (role === 'user' ? [text] : [])).slice(0, QUESTIONS);

/** The turn as tokens name it. */
export const tokenTurn = ({ id, workspace_id, agent_id }: Pick<TurnRow, 'id' | 'workspace_id' | 'agent_id'>) => ({
  workspaceId: workspace_id,
  agentId: agent_id,
  turnId: id,
});
