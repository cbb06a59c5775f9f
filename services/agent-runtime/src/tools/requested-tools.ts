import type { RunTurnRequest } from '@uswarm/runtime-proto';
import type { FunctionTool } from '../models/port.js';

/** The tools of a turn that the orchestrator executes. @throws SyntaxError if a schema is not JSON */
export const requestedTools = ({ requestedTools: tools }: Pick<RunTurnRequest, 'requestedTools'>): FunctionTool[] =>
  tools.map(({ name, description, inputSchema }) => ({
    type: 'function',
    name,
    description,
    inputSchema: JSON.parse(inputSchema) as FunctionTool['inputSchema'],
  }));
