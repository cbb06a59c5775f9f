import { CreateMemoryBody } from '@uswarm/contract';
import { MEMORIES_TOOL } from '@uswarm/contract/agent-tools';
import { z } from 'zod';
import { failed, succeeded, withOutcome } from '../../turns/tools/outcomes.js';
import { definePlatformTool, type PlatformTool } from '../../turns/tools/platform-tool.js';
import { chooseMemories } from '../../turns/request/choose-memories.js';
import type { MemoryLimits } from './memories.service.js';
import {
  type NewMemory,
  readMemories,
  findMemoryScope,
  lockMemories,
  findMemoryOfUser,
  isMemoryDeleted,
  putMemory,
  rankMemories,
  forgetMemory,
} from '../../records/memories.store.js';
import type { Database } from '../../platform/database/database.js';

export interface MemoryToolDeps {
  database: Database;
  limits: MemoryLimits;
}

const line = ({ key, category, content }: NewMemory): string => JSON.stringify({ key, category, content });

const replacing = (key: string, written: string): string =>
  `The user wrote the memory “${key}”: ${JSON.stringify(written)}. Nothing was changed. If your text should replace it, call ` +
  'remember again with this text in `replaces`.';

const { key: Key, content: Content } = CreateMemoryBody.shape;

/** Lets agents manage their memories. Users manage them with routes REST-024 to REST-026. */
export function createMemoryTools({ database, limits }: MemoryToolDeps): PlatformTool[] {
  const remember = definePlatformTool({
    name: 'remember',
    description:
      'Saves a fact about the user or the work for later conversations, or replaces the memory with the same key. Save ' +
      'preferences, decisions and names, but no secrets and nothing that is true only today.',
    effect: 'own',
    // Memories influence later conversations.
    asksAfterUntrustedContent: true,
    switchedBy: MEMORIES_TOOL,
    input: z.object({
      key: Key.describe('A short, stable name.'),
      content: Content.describe('One or two sentences.'),
      category: z.string().min(1).max(100).default('general').describe('"core" if it always matters.'),
      scope: z.enum(['agent', 'workspace']).optional().describe('Who has it. Default: all agents if "core", else you.'),
      replaces: Content.optional().describe('The present text, if the user wrote it.'),
    }),
    describe: ({ key }) => `Remembering “${key}”`,
    async changes({ key, content, category, scope }, { agentId }) {
      const [before] = await readMemories(database, agentId, [key]);
      return [
        { label: 'Key', after: key },
        { label: 'Category', after: category },
        ...(scope === undefined ? [] : [{ label: 'For', after: scope === 'workspace' ? 'all agents' : 'this agent' }]),
        { label: 'Content', after: content, ...(before === undefined ? {} : { before: before.content }) },
      ];
    },
    prepare:
      ({ key, content, category, scope: wanted, replaces }, { userId, agentId, turnId }) =>
      async (tx) => {
        if (Buffer.byteLength(content) > limits.contentBytes)
          return failed(`A memory has at most ${limits.contentBytes} bytes. Save a shorter text.`);
        if ((await lockMemories(tx, userId, agentId)) === undefined) return failed('The agent no longer exists.');
        const scope = await findMemoryScope(tx, agentId, { key, category, scope: wanted });
        const written = await findMemoryOfUser(tx, agentId, { key, scope });
        if (written !== undefined && ![content, replaces].includes(written)) return failed(replacing(key, written));
        if (await isMemoryDeleted(tx, agentId, { key, content }))
          return failed('The user deleted this memory. Do not save it again, under this or another key.');
        const row = await putMemory(tx, agentId, { key, content, category, scope }, { turnId }, limits.perAgent);
        return row === undefined
          ? failed(`There are ${limits.perAgent} memories already. Forget one first.`)
          : { ...succeeded(`Saved as “${key}”.`), wrote: [{ kind: 'memory', key }] };
      },
  });

  const recall = definePlatformTool({
    name: 'recall',
    hint: 'search your memories',
    offeredFor: 'memories',
    description: 'Searches your memories. Those that match the conversation best are in your prompt already.',
    effect: 'read',
    switchedBy: MEMORIES_TOOL,
    input: z.object({ query: z.string().trim().min(1).max(500).describe('Words that the memory contains.') }),
    describe: ({ query }) => `Recalling “${query}”`,
    async prepare({ query }, { agentId }) {
      const ranked = await rankMemories(database, agentId, [query]);
      const keys = chooseMemories(ranked.flatMap((memory) => (memory.score > 0 ? [{ ...memory, core: false }] : [])));
      const found = await readMemories(database, agentId, keys);
      const byKey = new Map(found.map((memory) => [memory.key, memory]));
      const lines = keys.flatMap((key) => byKey.get(key) ?? []).map(line);
      const outcome = succeeded(lines.length === 0 ? 'No memory matches.' : lines.join('\n'));
      return withOutcome({ ...outcome, read: keys.map((key) => ({ kind: 'memory', key })) });
    },
  });

  const forget = definePlatformTool({
    name: 'forget',
    hint: 'delete a memory',
    // A small model that does not see it saves another memory instead.
    offeredFor: 'memories',
    description:
      'Deletes one of your memories, or one of all agents, because it is wrong or because the user asks for it.',
    effect: 'own',
    // Memories influence later conversations.
    asksAfterUntrustedContent: true,
    switchedBy: MEMORIES_TOOL,
    input: z.object({ key: Key.describe('The key of the memory.') }),
    describe: ({ key }) => `Forgetting “${key}”`,
    async changes({ key }, { agentId }) {
      const [before] = await readMemories(database, agentId, [key]);
      return [
        { label: 'Key', after: key },
        ...(before === undefined ? [] : [{ label: 'Content', before: before.content, after: '' }]),
      ];
    },
    prepare:
      ({ key }, { userId, agentId }) =>
      async (tx) => {
        if ((await lockMemories(tx, userId, agentId)) === undefined) return failed('The agent no longer exists.');
        return (await forgetMemory(tx, agentId, key))
          ? succeeded(`Forgot “${key}”.`)
          : failed(`There is no memory with the key “${key}”. Use recall to find its key.`);
      },
  });

  return [remember, recall, forget];
}
