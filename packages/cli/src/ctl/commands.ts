import { readFile } from 'node:fs/promises';
import type { AdminUser } from '@uswarm/contract';
import { Failure } from '../failure.js';
import type { AdminClient } from './admin-client.js';
import type { ClusterCommand } from './cluster-arguments.js';
import type { CtlCommand } from './ctl-arguments.js';
import { exportUser } from './export-user.js';
import * as show from './show.js';
import { showTrace } from './show-trace.js';

export interface CommandResult {
  json: unknown;
  text: string;
  /** True if the request failed in part. */
  partial?: boolean;
}

export type AdminCommand = Exclude<
  CtlCommand,
  ClusterCommand | { name: 'receipt verify' | 'swarm-file verify' | 'secrets create' }
>;

/** @throws Failure */
export async function runCommand(command: AdminCommand, admin: AdminClient): Promise<CommandResult> {
  switch (command.name) {
    case 'user show': {
      const { users } = await admin.call('user.show', { user: command.user });
      if (users.length === 0) throw userNotFound(command.user);
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
    case 'export': {
      const { user, reason, file } = command;
      const { id: userId } = await oneUser(user, admin);
      const written = await exportUser({ userId, reason, file }, admin);
      return { json: written, text: `${written.file} has the data of ${user} (${written.export.size ?? 0} bytes).` };
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
      return { json: answer, text: `${document} ${version} published. Users must accept it again.` };
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
    case 'trace': {
      const answer = await admin.call('turns.trace', { id: command.id });
      return { json: answer, text: showTrace(answer) };
    }
    case 'turns requeue': {
      const answer = await admin.call('turns.requeue', { turn_ids: command.turnIds, reason: command.reason });
      return { json: answer, text: show.requeued(answer), partial: answer.refused.length > 0 };
    }
    case 'epoch bump': {
      const answer = await admin.call('epoch.bump', { reason: command.reason });
      return { json: answer, text: `The epoch is ${answer.epoch}. Clients reload their workspaces.` };
    }
    case 'tools list': {
      const { tools } = await admin.call('tools.list', {});
      return { json: tools, text: show.serverTools(tools) };
    }
    case 'tools accept': {
      const { server, tools } = command;
      const { accepted } = await admin.call('tools.accept', { server, tools });
      const text = accepted.length === 0 ? `No tool of ${server} has changed.` : `Accepted: ${accepted.join(', ')}.`;
      return { json: accepted, text };
    }
    case 'audit': {
      const user = command.user === undefined ? undefined : await oneUser(command.user, admin);
      const { entries } = await admin.call('audit.list', { user_id: user?.id, limit: command.limit });
      return { json: entries, text: show.audit(entries) };
    }
  }
}

async function setBanned(
  { name, user, reason }: Extract<AdminCommand, { name: 'user ban' | 'user unban' }>,
  admin: AdminClient,
): Promise<CommandResult> {
  const { id } = await oneUser(user, admin);
  const answer = await admin.call(name === 'user ban' ? 'user.ban' : 'user.unban', { user_id: id, reason });
  const text = name === 'user ban' ? banText(user, answer.changed) : unbanText(user, answer.changed);
  return { json: answer, text };
}

const banText = (user: string, changed: boolean): string =>
  changed ? `${user} is banned.` : `${user} was already banned.`;
const unbanText = (user: string, changed: boolean): string =>
  changed ? `${user} is no longer banned.` : `${user} was not banned.`;

async function oneUser(user: string, admin: AdminClient): Promise<AdminUser> {
  const { users } = await admin.call('user.show', { user });
  const [only, ...others] = users;
  if (only === undefined) throw userNotFound(user);
  if (others.length === 0) return only;
  const ids = users.map(({ id, issuer }) => `  ${id}  ${issuer}`).join('\n');
  throw new Failure(`${users.length} users match ${user}; use an id:\n${ids}`);
}

const userNotFound = (user: string): Failure =>
  new Failure(`User ${user} not found. Use an id, an e-mail address, or the uid at the identity provider.`);

async function readText(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new Failure(`${file} cannot be read (${cause.code}).`, { cause });
  });
  if (text.trim() === '') throw new Failure(`${file} is empty.`);
  return text;
}
