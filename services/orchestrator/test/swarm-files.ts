import { randomUUIDv7 } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import type { Export, WorkspaceImport } from '@uswarm/contract';
import {
  type Content,
  KEYS_PATH,
  openSwarmFile,
  sealed,
  type SwarmFile,
  tablePath,
  WORKSPACE_PATH,
} from '@uswarm/swarm-file';
import type { ReceiptSigner } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { createArchive } from '../src/accounts/exports/archive.js';
import type { ApiClient } from './api-client.js';
import { download, formOf } from './uploads.js';

export const IMPORTS = '/v1/workspace-imports';

type Client = Pick<ApiClient, 'get' | 'post' | 'raw'>;

/** @returns the file of a new export */
export async function exportWorkspace(url: string, user: Client, workspaceId: string): Promise<Buffer> {
  const path = `/v1/workspaces/${workspaceId}`;
  const { body } = await user.post<{ data: Export }>(`${path}/export`, undefined, 202);
  const read = async () => (await user.get<{ data: Export }>(`/v1/users/exports/${body.data.id}`)).body.data;
  const state = await eventually(read, { until: ({ status }) => status === 'ready' || status === 'failed' });
  return (await download(url, state.url ?? '')).bytes;
}

export async function beginImport(user: Client, bytes: Buffer): Promise<WorkspaceImport> {
  const form = await formOf({ content: bytes, name: 'w.uswarm' });
  const answer = await user.raw<{ data: WorkspaceImport }>({ method: 'POST', path: IMPORTS, ...form });
  if (answer.status !== 202) throw new Error(`the import was rejected: ${JSON.stringify(answer.body)}`);
  return answer.body.data;
}

export const importOf = async (user: Client, id: string): Promise<WorkspaceImport> =>
  (await user.get<{ data: WorkspaceImport }>(`${IMPORTS}/${id}`)).body.data;

export async function importEnd(user: Client, id: string): Promise<WorkspaceImport> {
  return eventually(() => importOf(user, id), { until: ({ status }) => status === 'done' || status === 'failed' });
}

export async function importFile(user: Client, bytes: Buffer): Promise<WorkspaceImport> {
  return importEnd(user, (await beginImport(user, bytes)).id);
}

/** All members but the manifest, by path. */
export async function membersOf(bytes: Buffer): Promise<Map<string, Buffer>> {
  return withSwarmFile(bytes, async (file) => {
    const members = new Map<string, Buffer>();
    for (const { path } of file.manifest.members) members.set(path, await buffer(await file.open(path)));
    return members;
  });
}

export async function withSwarmFile<Result>(bytes: Buffer, use: (file: SwarmFile) => Promise<Result>): Promise<Result> {
  const name = join(tmpdir(), `${randomUUIDv7()}.uswarm`);
  await writeFile(name, bytes);
  try {
    const file = await openSwarmFile(name);
    try {
      return await use(file);
    } finally {
      file.close();
    }
  } finally {
    await rm(name);
  }
}

export type Row = Record<string, unknown>;

const ID = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/g;

export const rowsIn = (members: ReadonlyMap<string, Buffer>, path: string): Row[] =>
  (members.get(path)?.toString() ?? '')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Row);

/** The differences that docs/swarm-file.md names. */
const DIFFERENT: Record<string, (row: Row) => Row> = {
  conversations: (row) => ({ ...row, untrusted: null }),
  messages: (row) => {
    const content = row['content'] as Row;
    const isOpen = content['type'] === 'action_card' && (content['selected_action_id'] ?? null) === null;
    const isChanged = isOpen || ['pending', 'incomplete'].includes(String(row['status']));
    const state = content['type'] === 'workflow' ? { ...content, status: null, steps: null } : content;
    return { ...row, content: state, ...(isChanged ? { status: null, error_code: null } : {}) };
  },
  artifacts: (row) => ({
    ...row,
    versions: (row['versions'] as Row[]).map((version) => ({ ...version, untrusted: null })),
  }),
  schedules: (row) => (row['status'] === 'finished' ? row : { ...row, status: null }),
  memories: (row) => ({ ...row, untrusted: null }),
  agents: (row) => ({
    ...row,
    tools: (row['tools'] as Row[]).map((tool) => ({
      ...tool,
      permission: tool['permission'] === 'ask' ? 'ask' : null,
    })),
  }),
  files: (row) => ({ ...row, created_at: null }),
};

/** The members, with ids in the order of their first appearance, and without what may differ. */
export function comparable(members: ReadonlyMap<string, Buffer>): Record<string, unknown> {
  const names = new Map<string, string>();
  const named = (text: string): string =>
    text.replaceAll(ID, (id) => {
      names.set(id, names.get(id) ?? `id ${names.size}`);
      return names.get(id) ?? '';
    });
  const compared: Record<string, unknown> = {};
  for (const [path, bytes] of members) {
    const table = path.replace('.jsonl', '');
    const same = DIFFERENT[table] ?? ((row: Row) => row);
    if (path === KEYS_PATH) continue;
    if (path === tablePath('receipts')) compared[path] = bytes.toString();
    else if (path.endsWith('.jsonl'))
      compared[path] = rowsIn(members, path).map((row) => named(JSON.stringify(same(row))));
    else compared[named(path)] = path === WORKSPACE_PATH ? named(bytes.toString()) : bytes.toString('base64');
  }
  return compared;
}

/** A file whose maker can sign, with some members changed. */
export async function forged(
  members: ReadonlyMap<string, Buffer>,
  changes: Record<string, string | Buffer>,
  signer: ReceiptSigner,
) {
  const keys = JSON.stringify({ keys: [{ kid: signer.kid, x: signer.x }] });
  const all = new Map([
    ...members,
    ...Object.entries({ [KEYS_PATH]: keys, [tablePath('receipts')]: '', ...changes }).map(
      ([path, content]) => [path, Buffer.from(content)] as const,
    ),
  ]);
  async function* contents(): AsyncGenerator<Content> {
    for (const [path, bytes] of all) yield { path, compress: false, open: async () => Readable.from([bytes]) };
  }
  const about = { created_at: new Date().toISOString(), workspace_id: '01931a5e-7c00-7000-8000-000000000001' };
  return buffer(createArchive(sealed(contents(), about, signer), new Date(), new AbortController().signal));
}
