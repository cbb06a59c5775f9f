import { Router } from 'express';
import type { Logger } from '@uswarm/service-kit';
import type { ReceiveTrigger } from '../chat/triggers/receive-trigger.js';
import type { ConversationService } from '../chat/conversations.service.js';
import type { MessageService } from '../chat/messages.service.js';
import type { OrchestratorConfig } from '../config.js';
import type { Database } from '../platform/database/database.js';
import type { ArtifactService } from '../workspaces/artifacts/artifacts.service.js';
import type { WorkspaceService } from '../workspaces/workspaces.service.js';
import { createAgUiDoor } from './ag-ui/ag-ui.door.js';
import { createAskedOnce } from './asked-once.js';
import { countAnswerTokens } from './answer-usage.store.js';
import { type AskDeps, createAsk } from './ask.js';
import { type ConversationOfDeps, createConversationOf } from './conversation-of.js';
import type { AuthenticateProgram } from './enter.js';
import { createHooksDoor } from './hooks.door.js';
import { createFollowAnswer, type FollowAnswerDeps } from './follow-answer.js';
import { createMcpDoor } from './mcp/mcp.door.js';
import { createOpenAiDoor } from './openai/openai.door.js';
import { createQuestionOf, type QuestionOfDeps } from './question-of.js';
import { findQuestion, findQuestionOfChoice, findTask, isAnswered } from './questions.store.js';
import { createReachedWorkspace } from './reached-workspace.js';

export interface DoorsModuleDeps
  extends
    Pick<AskDeps, 'bus'>,
    Pick<ConversationOfDeps, 'agents'>,
    Pick<QuestionOfDeps, 'actions'>,
    Pick<FollowAnswerDeps, 'events' | 'subscriptions' | 'readPosition'> {
  config: Pick<OrchestratorConfig, 'OIDC_ISSUERS' | 'PUBLIC_URL'>;
  workspaces: Pick<WorkspaceService, 'list'>;
  conversations: Pick<ConversationService, 'create' | 'get' | 'list'>;
  messages: Pick<MessageService, 'get' | 'list' | 'send'>;
  artifacts: Pick<ArtifactService, 'list' | 'get'>;
  receiveTrigger: ReceiveTrigger;
  database: Database;
  version: string;
  logger: Logger;
}

/** Mounts all doors. */
export type Doors = (authenticate: AuthenticateProgram) => Router;

/** Other protocols over the public log, and the path on which apps send messages. */
export function createDoorsModule({ config, database, workspaces, version, logger, ...deps }: DoorsModuleDeps): Doors {
  const reachedWorkspace = createReachedWorkspace(workspaces);
  const ask = createAsk({
    bus: deps.bus,
    reachedWorkspace,
    questionOf: createQuestionOf({
      conversationOf: createConversationOf(deps),
      messages: deps.messages,
      actions: deps.actions,
      findQuestion: (question) => findQuestion(database, question),
      findQuestionOfChoice: (cardId) => findQuestionOfChoice(database, cardId),
    }),
    followAnswer: createFollowAnswer({
      ...deps,
      database,
      isAnswered: (questionId) => isAnswered(database, questionId),
      findTask: (turnId) => findTask(database, turnId),
    }),
    readPosition: deps.readPosition,
    usageOf: (questionId) => countAnswerTokens(database, questionId),
  });
  return (authenticate) =>
    Router().use(
      createHooksDoor(deps.receiveTrigger),
      createOpenAiDoor({ ask, askedOnce: createAskedOnce(database), authenticate }),
      createAgUiDoor({ ask, authenticate }),
      createMcpDoor({
        ask,
        authenticate,
        reachedWorkspace,
        conversations: deps.conversations,
        artifacts: deps.artifacts,
        issuers: config.OIDC_ISSUERS.map(({ issuer }) => issuer),
        publicUrl: config.PUBLIC_URL,
        version,
        logger,
      }),
    );
}
