import { createHmac, randomUUIDv7 } from 'node:crypto';
import { ApiError } from '@uswarm/contract';
import type { Database, Transact } from '../../database/database.js';
import type { WorkStore } from '../../work/work.store.js';
import type { AgentStore } from '../agents/agents.store.js';
import type { Identity } from '../auth/actor.js';
import type { ConversationStore } from '../conversations/conversations.store.js';
import type { AgentTemplate } from '../core/catalog.js';
import type { RuntimeWishes } from '../runtimes/runtime-wishes.js';
import { TURN_WORK } from '../turns/turn-queue.js';
import type { UserStore } from '../users/users.store.js';
import type { WorkspaceStore } from '../workspaces/workspaces.store.js';

export interface AccountServiceDeps {
  transaction: Transact;
  users: Pick<UserStore, 'find' | 'insert' | 'setEmail' | 'lockOwned' | 'delete' | 'rememberDeletion' | 'wasDeleted'>;
  workspaces: Pick<WorkspaceStore, 'insert'>;
  agents: Pick<AgentStore, 'insertAll'>;
  conversations: Pick<ConversationStore, 'insert'>;
  work: Pick<WorkStore, 'cancel'>;
  runtimes: Pick<RuntimeWishes, 'want' | 'unwant' | 'wake'>;
  agentTemplates: readonly AgentTemplate[];
  /** Keys the hash that stays of a deleted account. */
  identityHashKey: string;
}

export interface AccountService {
  find(identity: Identity): Promise<{ id: string; isBanned: boolean } | undefined>;
  wasDeleted(identity: Identity): Promise<boolean>;
  /** @throws ApiError `user_not_found`, `user_deleted`, `user_banned` */
  signIn(identity: Identity): Promise<void>;
  /** Creates user, first workspace, agents, swarm conversation and the wish for a runtime; repeating it changes nothing. */
  signUp(identity: Identity): Promise<void>;
  /** @throws ApiError `user_not_found`, `user_deleted`, `user_banned` */
  delete(identity: Identity, why: { reason: string; description: string }): Promise<void>;
}

const FIRST_WORKSPACE = 'My workspace';

export function createAccountService(deps: AccountServiceDeps): AccountService {
  const { transaction, users, workspaces, agents, conversations, work, runtimes, agentTemplates } = deps;
  const hash = ({ issuer, subject }: Identity): Buffer =>
    createHmac('sha256', deps.identityHashKey).update(`${issuer}\n${subject}`).digest();

  async function requireUser(identity: Identity): Promise<string> {
    const user = await users.find(identity);
    if (user === undefined) {
      throw new ApiError((await users.wasDeleted(hash(identity))) ? 'user_deleted' : 'user_not_found');
    }
    if (user.isBanned) throw new ApiError('user_banned');
    return user.id;
  }

  async function createEverything(identity: Identity, tx: Database): Promise<boolean> {
    const userId = randomUUIDv7();
    if (!(await users.insert({ ...identity, id: userId }, tx))) return false;
    const workspaceId = randomUUIDv7();
    await workspaces.insert({ id: workspaceId, ownerId: userId, name: FIRST_WORKSPACE }, tx);
    const members = agentTemplates.map((template, index) => ({ ...template, id: randomUUIDv7(), sortOrder: index }));
    await agents.insertAll(workspaceId, members, tx);
    await conversations.insert({ id: randomUUIDv7(), workspaceId, type: 'swarm', agentId: null }, tx);
    await runtimes.want(workspaceId, userId, tx);
    return true;
  }

  return {
    find: (identity) => users.find(identity),
    wasDeleted: (identity) => users.wasDeleted(hash(identity)),

    async signIn(identity) {
      const userId = await requireUser(identity);
      if (identity.email !== '') await users.setEmail(userId, identity.email);
    },

    async signUp(identity) {
      const user = await users.find(identity);
      if (user?.isBanned === true) throw new ApiError('user_banned');
      if (user !== undefined) return;
      const created = await transaction((tx) => createEverything(identity, tx));
      if (created) runtimes.wake();
    },

    async delete(identity, { reason, description }) {
      const userId = await requireUser(identity);
      await transaction(async (tx) => {
        // Leases before rows, as replies and the lifecycle lock them: the other way round is a deadlock.
        for (const workspaceId of await users.lockOwned(userId, tx)) {
          await work.cancel(TURN_WORK, workspaceId, tx);
          await runtimes.unwant(workspaceId, tx);
        }
        await users.delete(userId, tx);
        await users.rememberDeletion(hash(identity), reason, description, tx);
      });
      runtimes.wake();
    },
  };
}
