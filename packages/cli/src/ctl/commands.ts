import { readFile } from 'node:fs/promises';
import type { AdminUser } from '@uswarm/contract';
import { Failure } from '../failure.js';
import type { AdminClient } from './admin-client.js';
import type { Command } from './arguments.js';
import * as show from './show.js';

/** What a command found or did. */
export interface Result {
  json: unknown;
  text: string;
  /** Not everything that was asked for was done. */
  partly?: boolean;
}

export type Runnable = Exclude<Command, { name: 'help' | 'explain' }>;

/** @throws Failure */
export async function runCommand(command: Runnable, admin: AdminClient): Promise<Result> {
  switch (command.name) {
    case 'user show': {
      const { users } = await admin.call('user.show', { user: command.user });
      if (users.length === 0) throw noUser(command.user);
      return { json: users, text: users.map(show.user).join('\n') };
    }
    case 'user ban':
    case 'user unban':
      return setBanned(command, admin);
    case 'user plan': {
      const { user, plan, until, reason } = command;
      const { id } = await oneUser(user, admin);
      const answer = await admin.call('user.plan', { user_id: id, plan, expires_at: until, reason });
      return { json: answer, text: show.plan(user, answer) };
    }
    case 'workspace show': {
      const answer = await admin.call('workspace.show', { workspace_id: command.workspaceId });
      return { json: answer, text: show.workspace(answer) };
    }
    case 'legal list': {
      const { versions } = await admin.call('legal.list', {});
      return { json: versions, text: show.legalVersions(versions) };
    }
    case 'legal publish': {
      const { document, version, file } = command;
      const answer = await admin.call('legal.publish', { document, version, content: await readText(file) });
      return { json: answer, text: `${document} ${version} is in force; users have to accept it again.` };
    }
    case 'turns list': {
      const { status, workspaceId, olderThanS, limit } = command;
      const { turns } = await admin.call('turns.list', {
        status,
        workspace_id: workspaceId,
        older_than_s: olderThanS,
        limit,
      });
      return { json: turns, text: show.turns(turns) };
    }
    case 'turns requeue': {
      const answer = await admin.call('turns.requeue', { turn_ids: command.turnIds, reason: command.reason });
      return { json: answer, text: show.requeued(answer), partly: answer.refused.length > 0 };
    }
    case 'audit': {
      const user = command.user === undefined ? undefined : await oneUser(command.user, admin);
      const { entries } = await admin.call('audit.list', { user_id: user?.id, limit: command.limit });
      return { json: entries, text: show.audit(entries) };
    }
  }
}

async function setBanned(
  { name, user, reason }: Extract<Runnable, { name: 'user ban' | 'user unban' }>,
  admin: AdminClient,
): Promise<Result> {
  const { id } = await oneUser(user, admin);
  const answer = await admin.call(name === 'user ban' ? 'user.ban' : 'user.unban', { user_id: id, reason });
  const state = name === 'user ban' ? 'banned' : 'not banned';
  return { json: answer, text: answer.changed ? `${user} is ${state} now.` : `${user} was ${state} already.` };
}

async function oneUser(user: string, admin: AdminClient): Promise<AdminUser> {
  const { users } = await admin.call('user.show', { user });
  const [only, ...others] = users;
  if (only === undefined) throw noUser(user);
  if (others.length === 0) return only;
  const ids = users.map(({ id, issuer }) => `  ${id}  ${issuer}`).join('\n');
  throw new Failure(`${users.length} users are called ${user}; name one of them by its id:\n${ids}`);
}

const noUser = (user: string): Failure =>
  new Failure(`There is no user ${user}: neither an id, nor an e-mail address, nor the uid at an identity provider.`);

async function readText(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new Failure(`${file} cannot be read (${cause.code}).`, { cause });
  });
  if (text.trim() === '') throw new Failure(`${file} is empty.`);
  return text;
}
