import type { AgentTool } from '@uswarm/contract';
import type { Tool } from '../core/catalog.js';

/** The switches that somebody moved, by the name of the tool. */
export type ToolSwitches = Readonly<Record<string, boolean>>;

/** The catalogue as an agent has it. What the catalogue no longer names is gone, whatever its switch. Pure. */
export function toolsOf(catalog: readonly Tool[], switches: ToolSwitches): AgentTool[] {
  return catalog.map(({ name, description, icon_url, category_id, enabled }) => ({
    name,
    description,
    icon_url,
    category_id,
    enabled: Object.hasOwn(switches, name) ? switches[name] === true : enabled,
  }));
}
