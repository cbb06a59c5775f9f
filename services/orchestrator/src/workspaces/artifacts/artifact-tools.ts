import { randomUUIDv7 } from 'node:crypto';
import { LIMITS } from '@uswarm/contract';
import { ARTIFACTS_TOOL } from '@uswarm/contract/agent-tools';
import { z } from 'zod';
import { previewOf } from './artifact-preview.js';
import type { Transaction, Database } from '../../platform/database/database.js';
import { findAgentSlug } from '../../records/agents.store.js';
import { oneLine } from '../../records/one-line.js';
import { failed, succeeded, withOutcome } from '../../turns/tools/outcomes.js';
import {
  type Commit,
  definePlatformTool,
  type PlatformTool,
  type ToolCall,
  type ToolOutcome,
} from '../../turns/tools/platform-tool.js';
import type { ArtifactContents } from './artifact-contents.js';
import {
  type NewVersion,
  type VersionRow,
  lockArtifacts,
  insertArtifact,
  findArtifact,
  findLatestArtifactVersion,
  appendArtifactVersion,
  finishArtifactVersion,
  listArtifacts,
} from './artifacts.store.js';

export interface ArtifactLimits {
  perWorkspace: number;
  versions: number;
  /** Maximum UTF-8 bytes per version. */
  bytes: number;
}

export interface ArtifactToolDeps {
  database: Database;
  contents: ArtifactContents;
  limits: ArtifactLimits;
}

const PAGE_CHARACTERS = 16_000;
const LISTED = 50;

const gone = (): ToolOutcome => failed('The workspace no longer exists.');
const missing = (id: string): ToolOutcome => failed(`There is no artifact ${id}. Use list_artifacts to find its id.`);

const Id = z.uuid().describe('The id of the artifact.');
const Title = z.string().overwrite(oneLine).min(1).max(LIMITS.artifactTitle);
const Content = z.string().min(1).describe('The whole document, as Markdown.');

const shown = (id: string, { title, version, status, agent_slug, preview }: Omit<VersionRow, 'created_at'>) =>
  ({
    key: `artifact:${id}`,
    content: { type: 'artifact', artifact_id: id, title, version, status, agent_slug, content_preview: preview },
  }) as const;

const versionOf = (id: string, version: number) => ({ kind: 'artifact', id, version }) as const;

type Stored = Omit<NewVersion, 'title' | 'agent_slug'>;

/** Replaces a passage that occurs once. Pure. */
function replaceOnce(text: string, old: string, replacement: string): { text: string } | { problem: string } {
  const start = text.indexOf(old);
  if (start === -1)
    return { problem: 'The artifact does not contain the passage in `old`. Read it, and copy the passage.' };
  if (text.includes(old, start + 1))
    return { problem: 'The passage in `old` occurs several times. Add text around it until it is unique.' };
  const edited = `${text.slice(0, start)}${replacement}${text.slice(start + old.length)}`;
  return edited === '' ? { problem: 'Nothing would be left of the artifact.' } : { text: edited };
}

/** Lets agents write artifacts. All agents in a workspace share its artifacts. */
export function createArtifactTools({ database, contents, limits }: ArtifactToolDeps): PlatformTool[] {
  const common = { switchedBy: ARTIFACTS_TOOL };

  /** Stores the content. @returns the version's content fields, or why the content is refused */
  async function written(call: ToolCall, content: string): Promise<Stored | string> {
    const size = Buffer.byteLength(content);
    if (size > limits.bytes) return `An artifact has at most ${limits.bytes} bytes. Write a shorter one, or several.`;
    return { size, preview: previewOf(content), object_id: await contents.put(call, content) };
  }

  const slugOf = async ({ agentId }: ToolCall, tx: Transaction): Promise<string> =>
    (await findAgentSlug(tx, agentId)) ?? '';

  const append =
    (
      call: ToolCall,
      { id, expected, title }: { id: string; expected: number; title: string | undefined },
      stored: Stored,
    ): Commit =>
    async (tx) => {
      if (!(await lockArtifacts(tx, call.workspaceId))) return gone();
      const latest = await findLatestArtifactVersion(tx, call.workspaceId, id);
      if (latest === undefined) return missing(id);
      if (latest.version !== expected)
        return failed(`The artifact has version ${latest.version}. Read it, and change that version.`);
      if (latest.version >= limits.versions)
        return failed(`The artifact has ${limits.versions} versions already. Create a new artifact.`);
      const version = {
        ...stored,
        title: title ?? latest.title,
        agent_slug: await slugOf(call, tx),
        version: latest.version + 1,
      };
      await appendArtifactVersion(tx, id, version);
      const message = shown(id, { ...version, status: 'draft' });
      // A version without a title keeps the last version's title.
      const read = title === undefined ? [versionOf(id, latest.version)] : [];
      const wrote = [versionOf(id, version.version)];
      return { ...succeeded(`Saved version ${version.version}, a draft.`), message, read, wrote };
    };

  const create = definePlatformTool({
    ...common,
    name: 'create_artifact',
    hint: 'write a document to keep, such as a report, plan or list',
    offeredFor: 'artifacts',
    description:
      'Creates a document that the user can open and keep. Use it for results that are longer than a short answer or will ' +
      'change. The user sees it next to your answer: do not repeat its content.',
    effect: 'own',
    input: z.object({ title: Title, content: Content }),
    describe: ({ title }) => `Writing “${title}”`,
    async prepare({ title, content }, call) {
      const stored = await written(call, content);
      if (typeof stored === 'string') return withOutcome(failed(stored));
      return async (tx) => {
        if (!(await lockArtifacts(tx, call.workspaceId))) return gone();
        const id = randomUUIDv7();
        const version = { ...stored, title, agent_slug: await slugOf(call, tx) };
        const { workspaceId, conversationId } = call;
        if (!(await insertArtifact(tx, { id, workspaceId, conversationId }, version, limits.perWorkspace)))
          return failed(`There are ${limits.perWorkspace} artifacts already. Ask the user to delete some.`);
        const message = shown(id, { ...version, version: 1, status: 'draft' });
        return { ...succeeded(`Created artifact ${id}, version 1, a draft.`), message, wrote: [versionOf(id, 1)] };
      };
    },
  });

  const revise = definePlatformTool({
    ...common,
    name: 'revise_artifact',
    hint: 'rewrite a document',
    offeredFor: 'artifacts',
    description:
      'Replaces the content of an artifact. This creates a new version, which is a draft; earlier ones are kept.',
    effect: 'own',
    input: z.object({
      artifact_id: Id,
      expected_version: z.int().positive().describe('The version that you have read. A newer one is not overwritten.'),
      title: Title.optional().describe('A new title; by default it does not change.'),
      content: Content,
    }),
    describe: ({ title }) => (title === undefined ? 'Revising a document' : `Revising “${title}”`),
    async changes({ artifact_id: id, title, content }, { workspaceId }) {
      const latest = await findArtifact(database, workspaceId, id);
      const before = latest === undefined ? {} : { before: await contents.read(latest.object_id) };
      const renamed =
        title === undefined || latest === undefined ? [] : [{ label: 'Title', before: latest.title, after: title }];
      return [
        ...(latest === undefined ? [] : [{ label: 'Artifact', after: latest.title }]),
        ...renamed,
        { label: 'Content', ...before, after: content },
      ];
    },
    async prepare({ artifact_id: id, expected_version: expected, title, content }, call) {
      const stored = await written(call, content);
      if (typeof stored === 'string') return withOutcome(failed(stored));
      return append(call, { id, expected, title }, stored);
    },
  });

  const edit = definePlatformTool({
    ...common,
    name: 'edit_artifact',
    hint: 'change a passage of a document',
    offeredFor: 'artifacts',
    description:
      'Replaces one passage of an artifact, and keeps the rest. Use it for small changes instead of revise_artifact. This ' +
      'creates a new version, which is a draft.',
    effect: 'own',
    input: z.object({
      artifact_id: Id,
      old: z.string().min(1).describe('The passage exactly as it is written, long enough to be unique.'),
      new: z.string().describe('What replaces it; empty to delete it.'),
    }),
    describe: () => 'Editing a document',
    async changes({ artifact_id: id, old, new: replacement }, { workspaceId }) {
      const latest = await findArtifact(database, workspaceId, id);
      return [
        ...(latest === undefined ? [] : [{ label: 'Artifact', after: latest.title }]),
        { label: 'Passage', before: old, after: replacement },
      ];
    },
    async prepare({ artifact_id: id, old, new: replacement }, call) {
      const before = await findArtifact(database, call.workspaceId, id);
      if (before === undefined) return withOutcome(missing(id));
      const content = replaceOnce(await contents.read(before.object_id), old, replacement);
      if ('problem' in content) return withOutcome(failed(content.problem));
      const stored = await written(call, content.text);
      if (typeof stored === 'string') return withOutcome(failed(stored));
      return append(call, { id, expected: before.version, title: undefined }, stored);
    },
  });

  const finish = definePlatformTool({
    ...common,
    name: 'finish_artifact',
    hint: 'mark a document as final',
    offeredFor: 'artifacts',
    description: 'Marks the latest version of an artifact as final, when the document is complete.',
    effect: 'own',
    input: z.object({ artifact_id: Id }),
    describe: () => 'Finishing a document',
    async changes({ artifact_id: id }, { workspaceId }) {
      const latest = await findArtifact(database, workspaceId, id);
      if (latest === undefined) return [];
      return [
        { label: 'Artifact', after: latest.title },
        { label: 'Status', before: latest.status, after: 'final' },
      ];
    },
    prepare:
      ({ artifact_id: id }, { workspaceId }) =>
      async (tx) => {
        if (!(await lockArtifacts(tx, workspaceId))) return gone();
        const latest = await findLatestArtifactVersion(tx, workspaceId, id);
        if (latest === undefined) return missing(id);
        await finishArtifactVersion(tx, id, latest.version);
        const message = shown(id, { ...latest, status: 'final' });
        const text = `Version ${latest.version} of “${latest.title}” is final.`;
        return { ...succeeded(text), message, read: [versionOf(id, latest.version)] };
      },
  });

  const read = definePlatformTool({
    ...common,
    name: 'read_artifact',
    hint: 'read a document',
    offeredFor: 'artifacts',
    description: `Reads an artifact, ${PAGE_CHARACTERS} characters at a time.`,
    effect: 'read',
    input: z.object({
      artifact_id: Id,
      version: z.int().positive().optional().describe('Default: the latest.'),
      offset: z.int().nonnegative().default(0).describe('The first character to read.'),
    }),
    describe: () => 'Reading a document',
    async prepare({ artifact_id: id, version, offset }, { workspaceId }) {
      const row = await findArtifact(database, workspaceId, id, version);
      if (row === undefined) return withOutcome(missing(id));
      const content = await contents.read(row.object_id);
      const end = Math.min(content.length, offset + PAGE_CHARACTERS);
      const lines = [
        `“${row.title}”, version ${row.version} of ${row.latest}, ${row.status}, by ${row.agent_slug}.`,
        ...(end < content.length || offset > 0 ? [`Characters ${offset} to ${end} of ${content.length}:`] : []),
        content.slice(offset, end).toWellFormed(),
      ];
      return withOutcome({ ...succeeded(lines.join('\n')), read: [versionOf(id, row.version)] });
    },
  });

  const list = definePlatformTool({
    ...common,
    name: 'list_artifacts',
    hint: 'list documents',
    offeredFor: 'artifacts',
    description: `Lists the artifacts of the workspace, the ${LISTED} last changed first.`,
    effect: 'read',
    input: z.object({}),
    describe: () => 'Listing documents',
    async prepare(_input, { workspaceId }) {
      const rows = await listArtifacts(database, workspaceId, LISTED);
      const lines = rows.map(({ id, title, version, status, agent_slug, created_at }) =>
        JSON.stringify({
          artifact_id: id,
          title,
          version,
          status,
          agent: agent_slug,
          written: created_at.toISOString(),
        }),
      );
      const outcome = succeeded(lines.length === 0 ? 'There are no artifacts.' : lines.join('\n'));
      return withOutcome({ ...outcome, read: rows.map(({ id, version }) => versionOf(id, version)) });
    },
  });

  return [create, edit, revise, finish, read, list];
}
