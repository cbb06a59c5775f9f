import { z } from 'zod';
import { IntegrationItemType, IntegrationProvider } from '../enums.js';

export const IntegrationCategory = z
  .strictObject({
    id: z.string().meta({ description: 'The `category_id` of tools and apps, such as `knowledge`.' }),
    name: z.string().meta({ description: 'The heading that users see.' }),
    image_url: z.string().meta({ description: 'Where to load a small picture; empty if there is none.' }),
  })
  .meta({ id: 'IntegrationCategory', description: 'A heading that groups tools and apps.' });

export const IntegrationItem = z
  .strictObject({
    name: z.string().meta({ description: 'What users see, such as `Google Calendar`.' }),
    description: z.string().meta({ description: 'A sentence for users about what agents do with it.' }),
    icon_url: z.string().meta({ description: 'Where to load a small picture; empty if there is none.' }),
    category_id: z.string().optional().meta({ description: 'The heading in `categories`; absent if it has none.' }),
    type: IntegrationItemType.meta({ description: 'Whether the user has to connect an account.' }),
    provider: IntegrationProvider.nullable().meta({
      description: 'What to send to `POST /v1/integrations/connect`; null for tools.',
    }),
    server: z
      .string()
      .optional()
      .meta({
        description:
          'The tool server to which the user can connect an account, for `POST /v1/tool-servers/{server}/connect`, or that the ' +
          'user has added; `GET /v1/tool-servers` tells more about the latter.',
      }),
    enabled: z
      .boolean()
      .meta({ description: 'Of an app: whether the user has connected it. Tools are always available.' }),
  })
  .meta({ id: 'IntegrationItem', description: 'A tool or an app that agents can use.' });

export type IntegrationItem = z.output<typeof IntegrationItem>;

export const IntegrationCatalog = z
  .strictObject({
    categories: z.array(IntegrationCategory).meta({ description: 'The headings, in the order to show them.' }),
    items: z.array(IntegrationItem).meta({ description: 'All tools and apps, also apps that are not connected.' }),
  })
  .meta({ id: 'IntegrationCatalog', description: 'Everything that the user can connect or switch on.' });
export type IntegrationCatalog = z.output<typeof IntegrationCatalog>;

const ServerToolDefinition = z
  .strictObject({
    description: z.string().meta({ description: 'As the server describes the tool to models.' }),
    input_schema: z.record(z.string(), z.unknown()).meta({ description: 'JSON schema of the arguments.' }),
    read_only: z.boolean().meta({ description: 'Whether the server claims that the tool changes nothing.' }),
  })
  .meta({ id: 'ServerToolDefinition', description: 'What a tool server tells about a tool.' });

export const ServerTool = z
  .strictObject({
    name: z.string().meta({ description: 'What the server calls it, such as `list_issues`.' }),
    state: z.enum(['offered', 'changed', 'missing', 'not_allowed']).meta({
      description:
        '`offered`: agents can have it. `changed`: disabled until the change is accepted. `missing`: no longer listed. ' +
        '`not_allowed`: the operator has excluded it.',
    }),
    accepted: ServerToolDefinition.meta({ description: 'The definition that was accepted.' }),
    changed: ServerToolDefinition.nullable().meta({ description: 'The new definition; null if nothing has changed.' }),
  })
  .meta({ id: 'ServerTool', description: 'A tool of a connected account, with the definition that was accepted.' });
export type ServerTool = z.output<typeof ServerTool>;

export const UserToolServer = z
  .strictObject({
    id: z.string().meta({ description: 'The `server` of the app in `GET /v1/integrations`, such as `own_k3x9q2ab`.' }),
    name: z.string().meta({ description: 'As the user has named it, on one line.' }),
    url: z.string().meta({ description: 'The MCP endpoint.' }),
    auth: z.enum(['none', 'bearer', 'oauth']).meta({
      description:
        'How the service authenticates there: not at all, with the token that the user has entered, or with an account that the ' +
        'user connects with `POST /v1/tool-servers/{server}/connect`.',
    }),
    state: z.enum(['connected', 'needs_account', 'failed']).meta({
      description:
        '`connected`: agents can use the tools. `needs_account`: connect the account, or add the server again with a new token. ' +
        '`failed`: the tools could not be listed the last time; see `failure`.',
    }),
    failure: z.string().nullable().meta({
      description:
        'What the server did the last time, for developers, such as `could not be reached`; null without a failure.',
    }),
    tools: z.int().nonnegative().meta({ description: 'How many tools agents can have.' }),
    created_at: z.iso.datetime().meta({ description: 'When it was added.' }),
  })
  .meta({ id: 'UserToolServer', description: 'A tool server that the user has added.' });
export type UserToolServer = z.output<typeof UserToolServer>;

export const OAuthConfiguration = z
  .strictObject({
    client_id: z.string().meta({ description: 'Identifies uswarm at the provider.' }),
    redirect_url: z.string().meta({ description: 'Where the provider sends the browser back. Use it unchanged.' }),
    authorization_endpoint: z.string().meta({ description: 'The page of the provider to open in a browser.' }),
    token_endpoint: z.string().meta({ description: 'For information: the service itself exchanges the code there.' }),
    scopes: z
      .array(z.string())
      .meta({ description: 'The permissions to request, joined by spaces in the authorization URL.' }),
    additional_parameters: z.record(z.string(), z.string()).meta({
      description:
        'Additional parameters of the authorization URL. With `code_challenge_method` (S256), a `code_challenge` is also required. ' +
        '`state` is valid for one flow of this user and expires after 30 minutes; return it with the callback.',
    }),
  })
  .meta({ id: 'OAuthConfiguration', description: 'What a client needs to open the authorization page of a provider.' });
export type OAuthConfiguration = z.output<typeof OAuthConfiguration>;
