/** A setting in `auth` that the vendor gives to the operator. */
export type ClientSetting = 'client_id' | 'secret' | 'scopes';

/** A vendor's MCP server. The operator's entry with its id takes the rest from here. */
export interface KnownServer {
  name: string;
  description: string;
  category_id: string;
  /** Path below the API. */
  icon: string;
  url: string;
  documentation: string;
  /** Without them, no account can be connected. None: the server registers a client itself (RFC 7591). */
  needs: readonly ClientSetting[];
  /** Steps for the operator, shown in the docs. */
  notes: string;
  /** How the server in the tests behaves, for the docs. */
  tested: string;
  /** Year and month in which these facts were looked up. */
  lookedUp: string;
}

/** For all providers in the API without built-in tools. Each is off until the operator adds an entry. */
export const KNOWN_SERVERS = {
  slack: {
    name: 'Slack',
    description: 'Reads channels and writes messages in your name.',
    category_id: 'communication',
    icon: '/v1/assets/icon-chat.svg',
    url: 'https://mcp.slack.com/mcp',
    documentation: 'https://docs.slack.dev/ai/slack-mcp-server/',
    needs: ['client_id', 'secret', 'scopes'],
    notes:
      'Create an app for your workspace, and turn on MCP in its settings; distributed apps must be in the Marketplace. Name the app’s user scopes ' +
      'in `scopes`: without them, scopes are requested that the app does not have, and Slack refuses.',
    tested: 'metadata at the root, nested token answers, errors with status 200',
    lookedUp: '2026-11',
  },
  jira: {
    name: 'Jira',
    description: 'Finds, creates and changes issues.',
    category_id: 'projects',
    icon: '/v1/assets/icon-ticket.svg',
    url: 'https://mcp.atlassian.com/v2/mcp',
    documentation:
      'https://support.atlassian.com/atlassian-ai-gateway/docs/get-started-with-the-atlassian-remote-mcp-server/',
    needs: [],
    notes:
      'It has tools for Confluence too; `scopes` can leave them out, but keep `offline_access`. Allow the domain of `redirect_urls` in the Rovo ' +
      'settings at Atlassian. The first user must be a site administrator. Most actions are one tool, `execute`, so users allow or deny them together.',
    tested: 'an issuer with a path, rotating refresh tokens',
    lookedUp: '2026-11',
  },
  notion: {
    name: 'Notion',
    description: 'Finds and writes pages.',
    category_id: 'knowledge',
    icon: '/v1/assets/icon-page.svg',
    url: 'https://mcp.notion.com/mcp',
    documentation: 'https://developers.notion.com/guides/mcp/build-mcp-client',
    needs: [],
    notes: 'Agents get all permissions of the user, because no scope limits them. Use `denied_tools`.',
    tested: 'a reused refresh token revokes all',
    lookedUp: '2026-11',
  },
  asana: {
    name: 'Asana',
    description: 'Finds, creates and changes tasks.',
    category_id: 'projects',
    icon: '/v1/assets/icon-tasks.svg',
    url: 'https://mcp.asana.com/v2/mcp',
    documentation: 'https://developers.asana.com/docs/integrating-with-asanas-mcp-server',
    needs: ['client_id', 'secret'],
    notes: 'Register an MCP app: other apps and personal tokens are refused. Leave out `scopes`.',
    tested: 'metadata for a folder',
    lookedUp: '2026-11',
  },
  github: {
    name: 'GitHub',
    description: 'Reads and writes repositories, issues and pull requests.',
    category_id: 'development',
    icon: '/v1/assets/icon-branch.svg',
    url: 'https://api.githubcopilot.com/mcp/',
    documentation: 'https://github.com/github/github-mcp-server/blob/main/docs/remote-server.md',
    needs: ['client_id', 'secret'],
    notes:
      'Register an OAuth app or a GitHub App. Organizations can restrict OAuth apps. With `auth: {type: bearer, …}`, all users share a personal ' +
      'access token. GitHub Enterprise Server is not served.',
    tested: 'form-encoded token answers, errors with status 200',
    lookedUp: '2026-11',
  },
  zoom: {
    name: 'Zoom',
    description: 'Finds meetings, recordings and documents.',
    category_id: 'communication',
    icon: '/v1/assets/icon-video.svg',
    url: 'https://mcp.zoom.us/mcp/zoom/streamable',
    documentation: 'https://developers.zoom.us/docs/mcp/servers/',
    needs: ['client_id'],
    notes:
      'Create a general app with user-level OAuth in the Marketplace, and enable its scopes there. `http://localhost` is refused in `redirect_urls`. ' +
      'A client without `secret` must be registered as public.',
    tested: 'HTTP Basic for the client',
    lookedUp: '2026-11',
  },
} as const satisfies Record<string, KnownServer>;

/** @param id of a tool server */
export const knownServer = (id: unknown): KnownServer | undefined =>
  typeof id === 'string' && Object.hasOwn(KNOWN_SERVERS, id)
    ? KNOWN_SERVERS[id as keyof typeof KNOWN_SERVERS]
    : undefined;
