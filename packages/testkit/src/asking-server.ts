import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { json } from 'node:stream/consumers';
import { type CallToolResult, inputRequired, McpServer } from '@modelcontextprotocol/server';
import { serveMcp } from './mcp-server.js';

type Asked = Parameters<typeof inputRequired.elicit>[0];
type ElicitedForm = Exclude<Asked['requestedSchema'], { '~standard': unknown }>;

/** An MCP server with one tool, `ask`, which asks the user and returns the answers. */
export interface AskingServer {
  url: string;
  /** Asked by the next call. */
  questions: ({ message: string; requestedSchema: ElicitedForm } | { message: string; url: string })[];
  /** From completed calls. */
  answers: unknown[];
  close(): Promise<void>;
}

const requestOf = (question: AskingServer['questions'][number]) =>
  'url' in question ? { mode: 'url' as const, elicitationId: randomUUID(), ...question } : question;

export interface AskingServerOptions {
  /**
   * Asks by requests, as in the protocol of 2025: in the response to the call, or in the stream that belongs to no call. Default: in
   * results, all questions together.
   */
  sessions?: 'related' | 'unrelated';
  readOnly?: boolean;
}

export async function startAskingServer(options: AskingServerOptions = {}): Promise<AskingServer> {
  const { sessions, readOnly = false } = options;

  function answered(answers: unknown[]): CallToolResult {
    asking.answers.push(...answers);
    return { content: [{ type: 'text', text: JSON.stringify(answers) }] };
  }

  function newServer(): McpServer {
    const server = new McpServer({ name: 'asking', version: '1.0.0' });
    const config = { description: 'Asks.', annotations: { readOnlyHint: readOnly } };
    server.registerTool('ask', config, async ({ mcpReq }) => {
      if (sessions !== undefined) {
        const answers = [];
        const related = sessions === 'related' ? { relatedRequestId: mcpReq.id } : {};
        for (const question of asking.questions) answers.push(await mcpReq.elicitInput(requestOf(question), related));
        return answered(answers);
      }
      const { inputResponses } = mcpReq;
      if (inputResponses !== undefined) return answered(Object.values(inputResponses));
      const requests = asking.questions.map((question, at) => [
        `q${at}`,
        'url' in question ? inputRequired.elicitUrl(question) : inputRequired.elicit(question),
      ]);
      return inputRequired({ inputRequests: Object.fromEntries(requests) });
    });
    return server;
  }

  const { serve } = serveMcp(newServer, sessions !== undefined);
  const http = createServer((request, response) => {
    const body = request.method === 'POST' ? json(request) : Promise.resolve(undefined);
    body.then((read) => serve(request, response, read)).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const asking: AskingServer = {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    questions: [],
    answers: [],
    async close() {
      http.closeAllConnections();
      await new Promise((resolve) => http.close(resolve));
    },
  };
  return asking;
}
