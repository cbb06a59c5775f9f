/**
 * The entries with which users enable tools per agent, in the order in which clients list them. The tool server and the agent
 * runtime implement tools under these names; tools of the orchestrator name the entry that enables them. Without schemas: a runtime loads this file, and memory counts there.
 */

export const WEB_SEARCH_TOOL = 'web_search_tool';
/** Enables the tools for artifacts. */
export const ARTIFACTS_TOOL = 'artifacts';
export const ACTION_CARD_TOOL = 'action_card_tool';
/** Enables the tools `remember`, `recall` and `forget`, and the memories in the prompt. */
export const MEMORIES_TOOL = 'memories';

export interface AgentToolEntry {
  name: string;
  description: string;
  icon_url: string;
  category_id: string;
  /** Default for agents whose user has not changed it. */
  enabled: boolean;
  /** Whether calls can change something, so that they can need the approval of the user. */
  changes: boolean;
}

export const AGENT_TOOLS: readonly AgentToolEntry[] = [
  {
    name: WEB_SEARCH_TOOL,
    description: 'Searches the web and names the sources.',
    icon_url: '/v1/assets/icon-web-search.svg',
    category_id: 'research',
    enabled: true,
    changes: false,
  },
  {
    name: MEMORIES_TOOL,
    description: 'Remembers facts about you and your work, and takes them into account in every answer.',
    icon_url: '/v1/assets/icon-memories.svg',
    category_id: 'knowledge',
    enabled: true,
    changes: true,
  },
  {
    name: ARTIFACTS_TOOL,
    description: 'Writes documents that you can open, and revises them.',
    icon_url: '/v1/assets/icon-artifacts.svg',
    category_id: 'creation',
    enabled: true,
    changes: true,
  },
  {
    name: ACTION_CARD_TOOL,
    description: 'Asks you to choose where a decision is yours.',
    icon_url: '/v1/assets/icon-choice.svg',
    category_id: 'communication',
    enabled: true,
    changes: false,
  },
];
