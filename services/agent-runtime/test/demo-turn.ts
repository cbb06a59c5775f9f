import { create } from '@bufbuild/protobuf';
import { type Done, HistoryRole, type Resolution, ResolutionSchema, AgentRole } from '@uswarm/runtime-proto';
import { createModelPort } from '../src/models/model-port.js';
import { createDemoAdapter } from '../src/models/providers/demo.js';
import { turnsWith } from './real-turn.js';

export interface RequestedCall {
  tool: string;
  input: Record<string, unknown>;
}

export interface DemoTurn {
  done: Done;
  /** The calls that the orchestrator would execute. */
  requests: RequestedCall[];
  /** The contents that the runtime shows. */
  shown: unknown[];
}

export interface DemoTurnOptions {
  /** The tools that the orchestrator executes. */
  tools: readonly string[];
  outcome?: (call: RequestedCall) => { text: string; failed?: boolean };
}

const limits = { firstByteMs: 60_000, betweenBytesMs: 60_000, totalMs: 60_000 };
const model = createModelPort({ adapter: createDemoAdapter({ delayMs: 0 }), limits, wait: () => Promise.resolve() });
const run = turnsWith(model);

export const COLLEAGUES = ['researcher', 'analyst', 'writer', 'coder'].map((slug) => ({
  id: slug,
  slug,
  name: `${slug[0]?.toUpperCase()}${slug.slice(1)}`,
  description: 'Helps.',
}));

/** Runs a manager's turn with the demo model. */
export async function demoTurn(text: string, { tools, outcome }: DemoTurnOptions): Promise<DemoTurn> {
  const open = new Map<string, RequestedCall>();
  const requests: RequestedCall[] = [];
  const shown: unknown[] = [];
  const resolution = (callId: string): Promise<Resolution> => {
    const { text: result, failed = false } = outcome?.(open.get(callId)!) ?? { text: 'Done.' };
    return Promise.resolve(create(ResolutionSchema, { callId, text: result, failed }));
  };
  const { done } = await run(
    {
      turnId: 't',
      generation: 1,
      journaled: true,
      agent: { id: 'a', slug: 'manager', name: 'Manager', role: AgentRole.MANAGER },
      colleagues: COLLEAGUES,
      history: [{ role: HistoryRole.USER, text }],
      tools: ['action_card_tool'],
      requestedTools: tools.map((name) => ({ name, description: '', inputSchema: '{"type":"object"}' })),
    },
    {
      resolution,
      onEvent({ case: kind, value }) {
        if (kind === 'request') {
          const call = { tool: value.tool, input: JSON.parse(value.arguments) as Record<string, unknown> };
          open.set(value.callId, call);
          requests.push(call);
        }
        if (kind === 'message') shown.push(value.content);
      },
    },
  );
  return { done, requests, shown };
}
