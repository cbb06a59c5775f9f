/**
 * The tools that users enable per agent, in the order in which clients list them. The tool server and the agent runtime
 * implement them under these names. Without schemas: a runtime loads this file, and memory counts there.
 */

export const WEB_SEARCH_TOOL = 'web_search_tool';
export const ACTION_CARD_TOOL = 'action_card_tool';
/** Not callable: it controls whether the model receives the agent's memories. */
export const MEMORIES_TOOL = 'memories';

export interface AgentToolEntry {
  name: string;
  description: string;
  icon_url: string;
  category_id: string;
  /** Default for agents whose user has not changed it. */
  enabled: boolean;
}

export const AGENT_TOOLS: readonly AgentToolEntry[] = [
  {
    name: WEB_SEARCH_TOOL,
    description: 'Searches the web and names the sources.',
    icon_url: '/v1/assets/icon-web-search.svg',
    category_id: 'research',
    enabled: true,
  },
  {
    name: MEMORIES_TOOL,
    description: 'Takes what the agent remembers into account in every answer.',
    icon_url: '/v1/assets/icon-memories.svg',
    category_id: 'knowledge',
    enabled: true,
  },
  {
    name: ACTION_CARD_TOOL,
    description: 'Asks you to choose where a decision is yours.',
    icon_url: '/v1/assets/icon-choice.svg',
    category_id: 'communication',
    enabled: true,
  },
];
