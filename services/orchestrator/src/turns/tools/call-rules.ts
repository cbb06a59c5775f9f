import { findSettingsOfAgent } from '../../records/agent-settings.store.js';
import { toolsOf } from '../../records/agent-tools.js';
import type { Tool } from '../../platform/core/catalog.js';
import { findIntegrationOf } from '../../records/integrations.store.js';
import type { ReceiptLog } from '../receipts/receipt-log.js';
import type { Database } from '../../platform/database/database.js';
import { isKnownAddress } from './known-addresses.js';
import { countLookups, findAddressTexts } from './known-addresses.store.js';
import type { PlatformTool, ToolCall } from './platform-tool.js';
import { findPrivateTexts } from './private-texts.store.js';
import { sharesText } from './shared-text.js';
import { findUntrustedSources } from './untrusted-content.store.js';
import { contentOf, type UntrustedSource } from './untrusted-content.js';

export type CallPlace = Pick<ToolCall, 'workspaceId' | 'conversationId' | 'userId'>;

/** The user's current rules. A turn can be days older, because it waited for an approval. */
export interface CallRules {
  permission(
    agentId: string,
    tool: Pick<PlatformTool, 'switchedBy' | 'effect' | 'entry'>,
  ): Promise<'allow' | 'ask' | 'deny'>;
  /** True if another turn by the agent has sent calls since the user message, which this turn answers again. */
  mayRepeat: ReceiptLog['sentSince'];
  /** Undefined if the tool uses no connection. */
  connection(userId: string, tool: Pick<PlatformTool, 'provider'>): Promise<string | undefined>;
  /** Sources that agents have read in the conversation. */
  untrustedSources(conversationId: string): Promise<UntrustedSource[]>;
  /**
   * True if a query has text of the user's that is not in the user's messages in the conversation.
   *
   * @param server receives the query, and knows its own results
   */
  sharesPrivateText(place: CallPlace, query: string, server?: string): Promise<boolean>;
  /** True if the user has written the whole address, or a search, page or connected app has returned it. */
  knowsAddress(conversationId: string, url: URL): Promise<boolean>;
  /** Counts a turn's searches and pages since its conversation has content from others. */
  lookups(turn: { id: string; conversationId: string }): Promise<number>;
}

export const connectionOf =
  (database: Database): CallRules['connection'] =>
  async (userId, { provider }) =>
    provider === undefined ? undefined : (await findIntegrationOf(database, userId, provider))?.id;

export interface CallRulesDeps {
  tools: readonly Tool[];
  receipts: Pick<ReceiptLog, 'sentSince'>;
  /** The conversation's file texts. */
  attachedTexts: (place: CallPlace) => Promise<string[]>;
  platformTools: readonly Pick<PlatformTool, 'name' | 'effect' | 'provider'>[];
  database: Database;
}

export const createCallRules = ({
  tools,
  receipts,
  attachedTexts,
  platformTools,
  database,
}: CallRulesDeps): CallRules => ({
  async permission(agentId, { switchedBy, effect, entry }) {
    const row = await findSettingsOfAgent(database, agentId);
    const catalog = entry === undefined ? tools : [entry];
    const tool = row && toolsOf(catalog, row).find(({ name }) => name === switchedBy);
    const permission = tool?.permission ?? 'deny';
    return permission === 'ask' && effect === 'read' ? 'allow' : permission;
  },
  mayRepeat: receipts.sentSince,
  connection: connectionOf(database),
  untrustedSources: (conversationId) => findUntrustedSources(database, conversationId),
  async sharesPrivateText(place, query, server) {
    const readers = platformTools.filter(({ effect }) => effect === 'read').map(({ name }) => name);
    const [{ texts, named }, attached] = await Promise.all([
      findPrivateTexts(database, place, readers, server),
      attachedTexts(place),
    ]);
    return sharesText(query, [...texts, ...attached], named);
  },
  async knowsAddress(conversationId, url) {
    const readers = platformTools.filter((tool) => contentOf(tool) === 'app').map(({ name }) => name);
    return isKnownAddress(url, await findAddressTexts(database, conversationId, readers));
  },
  lookups: (turn) => countLookups(database, turn),
});
