import type { IncomingMessage } from 'node:http';
import { StreamQuery, validationError } from '@uswarm/contract';
import { readSince, type Since } from '../hub/since.js';
import { decodeCursor, type Positions } from './cursor.js';

/** The content of a stream request. */
export interface StreamRequest {
  workspaceIds: readonly string[];
  /** From where on; the others begin at their end. */
  since: Positions;
  /** The `auth` entry in a socket's handshake. Credentials are in the headers. */
  auth: { resume_token?: string };
}

/** @throws ApiError `validation_failed`, `cursor_invalid` */
export function readStreamRequest({ url = '', headers }: IncomingMessage): StreamRequest {
  const { searchParams } = new URL(url, 'http://gateway');
  const query = StreamQuery.safeParse({
    workspace_id: searchParams.getAll('workspace_id'),
    since: searchParams.getAll('since'),
  });
  if (!query.success) throw validationError(query.error);
  const workspaceIds = [...new Set(query.data.workspace_id.map((id) => id.toLowerCase()))];
  const cursor = decodeCursor(textOf(headers['last-event-id']) || 'v1');
  const stated = new Map(query.data.since.map(readStated));
  const since = workspaceIds.flatMap((id) => {
    const position = later(cursor.get(id), stated.get(id));
    return position === undefined ? [] : [[id, position] as const];
  });
  const resumeToken = textOf(headers['x-resume-token']);
  return { workspaceIds, since: new Map(since), auth: resumeToken === '' ? {} : { resume_token: resumeToken } };
}

const textOf = (header: string | string[] | undefined): string => (typeof header === 'string' ? header : '');

/** Reads `<workspace id>@<epoch>:<seq>`, which the contract has validated. */
function readStated(text: string): [string, Since] {
  const [id = '', position = ''] = text.split('@');
  return [id.toLowerCase(), readSince(position.includes(':') ? position : Number(position))];
}

/**
 * Libraries repeat the first request's URL with the last event's id, which is newer. A position in another epoch comes
 * from a client that has reloaded the workspace.
 */
function later(cursor: Since | undefined, stated: Since | undefined): Since | undefined {
  if (cursor === undefined || stated === undefined) return cursor ?? stated;
  const isSameHistory = stated.epoch === undefined || stated.epoch === cursor.epoch;
  return isSameHistory && cursor.seq >= stated.seq ? cursor : stated;
}
