import { parseSigningKey, systemClock } from '@uswarm/service-kit';
import type { Express } from 'express';
import { sql } from 'kysely';
import { createApp } from './app.js';
import { createBackground } from './background.js';
import { openDatabase, type Transact } from './database/database.js';
import { accountHandlers } from './features/account/account.routes.js';
import { createAccountService } from './features/account/account.service.js';
import { agentHandlers } from './features/agents/agents.routes.js';
import { createAgentService } from './features/agents/agents.service.js';
import { createAuthenticator } from './features/auth/authenticator.js';
import { createOidcVerifier } from './features/auth/oidc-verifier.js';
import { createSignatureCheck, noSignatureCheck } from './features/auth/signature.js';
import { conversationHandlers } from './features/conversations/conversations.routes.js';
import { createConversationService } from './features/conversations/conversations.service.js';
import { loadAgentTemplates, loadLegalDocuments, loadModels, loadPlans } from './features/core/catalog.js';
import { coreHandlers } from './features/core/core.routes.js';
import { createCursorCodec } from './features/messages/cursor.js';
import { messageHandlers } from './features/messages/messages.routes.js';
import { createMessageService } from './features/messages/messages.service.js';
import { createRuntimeWishes } from './features/runtimes/runtime-wishes.js';
import { createTurnQueue } from './features/turns/turn-queue.js';
import { userHandlers } from './features/users/users.routes.js';
import { createUserService } from './features/users/users.service.js';
import { createWorkspaceAccess } from './features/workspaces/workspace-access.js';
import { workspaceHandlers } from './features/workspaces/workspaces.routes.js';
import { createWorkspaceService } from './features/workspaces/workspaces.service.js';
import type { Handlers } from './http/handlers.js';
import { createRequestContext } from './http/request-context.js';
import { createInternalApp } from './internal-app.js';
import type { OrchestratorOptions } from './options.js';
import { createStores } from './stores.js';

export interface Orchestrator {
  app: Express;
  internalApp: Express;
  ready: () => Promise<boolean>;
  close: () => Promise<void>;
}

/** Wires the orchestrator together; nothing listens yet. The schema must be up to date. */
export async function createOrchestrator(options: OrchestratorOptions): Promise<Orchestrator> {
  const { config, bus, logger, metrics } = options;
  const clock = systemClock;
  const database = openDatabase({ url: config.DATABASE_URL, maxConnections: config.DATABASE_MAX_CONNECTIONS });
  const transaction: Transact = (run) => database.transaction().execute(run);
  const stores = createStores(database);
  const background = await createBackground({ ...options, stores, transaction, clock });
  const { committed } = background;

  const runtimes = createRuntimeWishes({
    store: stores.runtimes,
    work: stores.work,
    woken: background.runtimeWoken,
    wake: background.wakeRuntimes,
  });
  const plans = loadPlans();
  const legal = loadLegalDocuments(config.LEGAL_VERSION, config.LEGAL_DIRECTORY);
  const access = createWorkspaceAccess(stores.workspaces);
  const accounts = createAccountService({
    ...stores,
    transaction,
    runtimes,
    agentTemplates: loadAgentTemplates(),
    identityHashKey: config.IDENTITY_HASH_KEY,
  });
  const workspaces = createWorkspaceService({ store: stores.workspaces, clock });
  const messages = createMessageService({
    ...stores,
    transaction,
    store: stores.messages,
    turns: createTurnQueue(stores.turns, stores.work),
    runtimes,
    access,
    cursors: createCursorCodec(config.CURSOR_KEY),
    clock,
    committed,
  });
  const conversations = createConversationService({
    ...stores,
    transaction,
    store: stores.conversations,
    access,
    clock,
    committed,
  });

  const authenticator = createAuthenticator({
    verifier: createOidcVerifier({
      issuers: config.OIDC_ISSUERS.map(({ id, issuer, audience, jwks_uri }) => ({
        id: id ?? issuer,
        issuer,
        audience,
        ...(jwks_uri === undefined ? {} : { jwksUri: jwks_uri }),
      })),
      cooldownMs: config.OIDC_JWKS_COOLDOWN_MS,
      clockToleranceS: config.OIDC_CLOCK_TOLERANCE_S,
    }),
    signature:
      config.SIGNATURE_MODE === 'required'
        ? createSignatureCheck(config.SIGNATURE_SECRET ?? '', clock)
        : noSignatureCheck,
    users: { find: accounts.find, wasDeleted: accounts.wasDeleted, ensure: accounts.signUp },
    ...(options.bypass === undefined ? {} : { bypass: options.bypass }),
  });

  const online = (): Promise<boolean> =>
    sql`SELECT 1`.execute(database).then(
      () => true,
      () => false,
    );
  const requestContext = createRequestContext(logger, metrics);
  const handlers: Handlers = {
    ...coreHandlers({ version: options.version, models: loadModels(config.MODEL_PROVIDER), legal, online }),
    ...accountHandlers(accounts),
    ...userHandlers(createUserService({ store: stores.users, plans, legal })),
    ...workspaceHandlers(workspaces),
    ...agentHandlers(createAgentService({ store: stores.agents, access, clock })),
    ...conversationHandlers(conversations),
    ...messageHandlers(messages),
  };

  return {
    app: createApp({ authenticator, handlers: options.changeHandlers?.(handlers) ?? handlers, requestContext, logger }),
    internalApp: createInternalApp({
      keys: [parseSigningKey(config.INTERNAL_API_KEY)],
      authenticator,
      users: stores.users,
      workspaces,
      messages,
      requestContext,
      logger,
    }),
    ready: async () => bus.healthy() && (await online()),
    async close() {
      await background.close();
      await database.destroy();
    },
  };
}
