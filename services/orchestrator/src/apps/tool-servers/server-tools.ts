import { randomUUID } from 'node:crypto';
import type { AgentToolEntry } from '@uswarm/contract/agent-tools';
import {
  type AskUser,
  type CallToolResult,
  McpFailure,
  ProtocolError,
  ProtocolErrorCode,
  toToolResult,
} from '@uswarm/mcp-client';
import { DECEPTIVE_IN_TEXT } from '@uswarm/service-kit';
import { oneLine } from '../../records/one-line.js';
import type { HashedDefinition } from '../../records/tool-definitions.store.js';
import { visibleText } from '../../records/visible-text.js';
import { failed, withOutcome } from '../../turns/tools/outcomes.js';
import {
  AccountNeeded,
  type Change,
  listedChanges,
  type PlatformTool,
  type ToolCall,
  type ToolOutcome,
  UncertainOutcome,
} from '../../turns/tools/platform-tool.js';
import type { ResultPictures } from './result-pictures.js';
import type { ServerClient } from './server-client.js';
import { offeredName } from './tool-definition.js';
import { isPersonal, type ToolServer } from './tool-servers-file.js';

export interface ServerToolDeps {
  server: ToolServer;
  client: Pick<ServerClient, 'call' | 'requireScopes'>;
  icon: string;
  pictures: ResultPictures;
  /** True if the server still lists the tool with this definition, and it is accepted. */
  isUnchanged(tool: HashedDefinition, signal: AbortSignal): Promise<boolean>;
}

/** A server can recognize a repeated call by this key. */
const KEY = 'uswarm.dev/call-key';
/** Characters of a description that the user sees in settings. */
const MAX_SUMMARY = 200;
/** The server read the request, and did not call the tool. */
const NOT_CALLED: ReadonlySet<number> = new Set([
  ProtocolErrorCode.ParseError,
  ProtocolErrorCode.InvalidRequest,
  ProtocolErrorCode.MethodNotFound,
  ProtocolErrorCode.InvalidParams,
]);

const NOTHING_CHANGED = 'Nothing was changed.';

const isArguments = (input: unknown): input is Record<string, unknown> =>
  typeof input === 'object' && input !== null && !Array.isArray(input);

/** Argument names that cannot be taken for a value, or for another line. */
const PLAIN_NAME = /^[\p{L}\p{N}_.$ -]+$/u;

/** Invisible characters are written as codes, because the server receives them. */
const inFull = (text: string): string =>
  text
    .toWellFormed()
    .replaceAll('\r\n', '\n')
    .replaceAll(DECEPTIVE_IN_TEXT, (hidden) => `\\u{${hidden.codePointAt(0)?.toString(16)}}`);

/** The arguments as the server receives them. The model chooses their names, too. */
const shownArguments = (input: Record<string, unknown>): Change[] =>
  listedChanges(input).map(({ label, after }) => ({
    label: inFull(PLAIN_NAME.test(label) ? label : JSON.stringify(label)),
    after: inFull(after),
  }));

/** The setting with which users turn the tool off, or let it ask. */
function entryOf({ server, icon }: ServerToolDeps, { definition }: HashedDefinition, isRead: boolean): AgentToolEntry {
  const summary = oneLine(definition.description).slice(0, MAX_SUMMARY).toWellFormed();
  return {
    name: offeredName(server.id, definition.name),
    description: summary === '' ? `${definition.name} of ${server.name}` : `${server.name}: ${summary}`,
    icon_url: icon,
    category_id: server.category_id,
    enabled: server.availability !== 'off',
    changes: !isRead,
    permission: isRead ? 'allow' : 'ask',
    ...(server.availability === 'forced' ? { isForced: true } : {}),
  };
}

/** The call that asks the user has another id: this one is stored as sent. */
const needsAccount = (name: string): ToolOutcome =>
  failed(
    `${name} needs the user to connect an account again. ${NOTHING_CHANGED} Make the same call once more: then the user is asked to connect it.`,
  );

/** After the user was asked, or if the server names no scopes. */
const lacksPermission = (name: string, { message }: McpFailure): ToolOutcome =>
  failed(
    `${name} ${message}, and connecting it again does not help. ${NOTHING_CHANGED} Do not repeat the call. Tell the user.`,
  );

/** @throws UncertainOutcome if the tool may have been executed */
function outcomeOfFailure({ name }: ToolServer, tool: string, error: unknown): ToolOutcome {
  if (error instanceof ProtocolError && NOT_CALLED.has(error.code))
    return failed(`${tool}: ${visibleText(error.message)} ${NOTHING_CHANGED}`);
  if (error instanceof AccountNeeded) return needsAccount(name);
  if (error instanceof McpFailure && error.neededScopes !== undefined) return lacksPermission(name, error);
  if (error instanceof McpFailure && !error.outcomeUnknown)
    return failed(`${name} ${error.message}. ${NOTHING_CHANGED} Tell the user, or try again later.`);
  throw new UncertainOutcome(`${name} gave no certain answer`, { cause: error });
}

/** Also true after a restart, when the pictures are lost, and for a model that cannot see them. */
const PICTURES_FOLLOW = '[The images follow. If you see none, they are not available to you.]';

function outcomeOf(result: CallToolResult, call: ToolCall, pictures: ResultPictures): ToolOutcome {
  const { text, failed: hasFailed, parts = [] } = toToolResult(result);
  const images = parts.filter((part) => part.type === 'image');
  if (images.length === 0) return { text, failed: hasFailed };
  pictures.keep(call, images);
  return { text: `${text}\n${PICTURES_FOLLOW}`, failed: hasFailed };
}

/** A tool server's tool as agents call it: like other apps' tools, at most once, and with a receipt if it can change something. */
export function serverTool(deps: ServerToolDeps, accepted: HashedDefinition): PlatformTool {
  const { server, client, pictures } = deps;
  const { definition, hash } = accepted;
  const isRead = server.trust_hints && definition.readOnly;
  const entry = entryOf(deps, accepted, isRead);
  const { name } = entry;
  const title = `${definition.name} of ${server.name}`;

  function check(input: unknown): ToolOutcome | undefined {
    return isArguments(input) ? undefined : failed(`${name}: the arguments must be an object.`);
  }

  const asking = ({ ask }: ToolCall): AskUser | undefined => ask && ((question) => ask(server.name, question));
  const request = (input: unknown) => ({ name: definition.name, arguments: isArguments(input) ? input : {} });

  const base = {
    name,
    description: `A tool of the server “${server.name}”. ${definition.description}`.trim(),
    inputSchema: definition.inputSchema,
    switchedBy: name,
    entry,
    reads: 'app',
    isForeign: !server.trust_hints,
    describe: () => `Using ${title}`,
    check,
    pictures: (_input: unknown, call: ToolCall) => pictures.read(call),
    preview: async (input: unknown) => ({
      title: `Use ${title}`,
      changes: shownArguments(isArguments(input) ? input : {}),
    }),
  } as const;

  if (isRead) {
    return {
      ...base,
      effect: 'read',
      async prepare(input: unknown, call: ToolCall) {
        const { userId, signal } = call;
        const problem = check(input);
        if (problem !== undefined) return withOutcome(problem);
        try {
          await client.requireScopes(definition.name);
          const result = await client.call(userId, request(input), signal, asking(call));
          return withOutcome(outcomeOf(result, call, pictures));
        } catch (error) {
          signal.throwIfAborted();
          if (error instanceof ProtocolError) return withOutcome(failed(`${name}: ${visibleText(error.message)}`));
          if (error instanceof McpFailure && error.neededScopes !== undefined)
            return withOutcome(lacksPermission(server.name, error));
          if (error instanceof McpFailure) return withOutcome(failed(`${server.name} ${error.message}.`));
          throw error;
        }
      },
    };
  }

  const hex = hash.toString('hex');
  return {
    ...base,
    effect: 'once',
    async plan(input, { signal }) {
      const problem = check(input);
      if (problem !== undefined) return { outcome: problem };
      try {
        if (!(await deps.isUnchanged(accepted, signal))) return { outcome: changedTool(title, server) };
        await client.requireScopes(definition.name);
      } catch (error) {
        if (!(error instanceof McpFailure)) throw error;
        return { outcome: failed(`${server.name} ${error.message}. ${NOTHING_CHANGED}`) };
      }
      // An approval is for this definition.
      return { key: `${hex}:${randomUUID()}` };
    },
    async send(input, key, call) {
      const [approved, callKey] = key.split(':');
      // A request that may change something is not aborted, and its outcome would be unknown.
      const { signal } = new AbortController();
      try {
        if (approved !== hex || !(await deps.isUnchanged(accepted, signal))) return changedTool(title, server);
        const sent = { ...request(input), _meta: { [KEY]: callKey } };
        return outcomeOf(await client.call(call.userId, sent, signal, asking(call)), call, pictures);
      } catch (error) {
        return outcomeOfFailure(server, name, error);
      }
    },
    lookUp: async () => undefined,
  };
}

function changedTool(title: string, server: ToolServer): ToolOutcome {
  const who = isPersonal(server) ? 'The user' : 'An administrator';
  return failed(
    `${title} has changed since it was accepted. It was not called. Nothing was changed. ${who} must accept the change first. Tell the user.`,
  );
}
