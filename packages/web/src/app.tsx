import type { ComponentType, ReactNode } from 'react';
import { Route, Switch, useParams, useSearchParams } from 'wouter';
import { ConversationScreen } from './conversation/conversation-screen.js';
import { ConversationList } from './conversations/conversation-list.js';
import { FirstRun } from './conversations/first-run.js';
import { NewTerms } from './legal/new-terms.js';
import { KeepNotifications } from './notifications/keep-notifications.js';
import { Screen } from './screen/screen.js';
import { pages } from './session/pages.js';
import { SessionGate } from './session/session-gate.js';
import { Layout } from './shell/layout.js';
import { PageKeys } from './shell/page-keys.js';
import { part } from './ui/part.js';
import { WaitingScreen } from './waiting/waiting-screen.js';
import { WorkspacesScreen } from './workspaces/workspaces-screen.js';

interface PanelProps {
  workspaceId: string;
  conversationId: string;
}

/** Loads a screen as its own chunk: the module exports the component by this name. */
const screen = <Name extends string, Props>(name: Name, load: () => Promise<Record<Name, ComponentType<Props>>>) =>
  part(async () => ({ default: (await load())[name] }));

const AgentsScreen = screen('AgentsScreen', () => import('./agents/agents-screen.js'));
const ConnectionsScreen = screen('ConnectionsScreen', () => import('./connections/connections-screen.js'));
const UsageScreen = screen('UsageScreen', () => import('./usage/usage-screen.js'));
const ReceiptsScreen = screen('ReceiptsScreen', () => import('./receipts/receipts-screen.js'));
const AccountScreen = screen('AccountScreen', () => import('./account/account-screen.js'));
const LegalScreen = screen('LegalScreen', () => import('./legal/legal-screen.js'));
const ConnectedScreen = screen('ConnectedScreen', () => import('./connections/connected-screen.js'));
const PANELS: Readonly<Record<string, ComponentType<PanelProps>>> = {
  swarm: screen('SwarmPanel', () => import('./swarm/swarm-panel.js')),
  search: screen('SearchPanel', () => import('./conversation/search-panel.js')),
  artifact: screen('ArtifactPanel', () => import('./artifacts/artifact-panel.js')),
  timeline: screen('TimelinePanel', () => import('./timeline/timeline-panel.js')),
};

export function App() {
  return (
    <Switch>
      <Route path="/legal/:document">{({ document }) => <LegalScreen document={document ?? ''} />}</Route>
      <Route>
        <SessionGate>
          <NewTerms>
            <Screens />
          </NewTerms>
          <PageKeys />
          <KeepNotifications />
        </SessionGate>
      </Route>
    </Switch>
  );
}

const outside = (content: ReactNode) => <Layout back="/">{content}</Layout>;

function Screens() {
  return (
    <Switch>
      <Route path="/">
        <Layout>
          <WorkspacesScreen />
        </Layout>
      </Route>
      <Route path="/w/:workspace/*?" component={WorkspaceRoutes} />
      <Route path="/waiting">{outside(<WaitingScreen />)}</Route>
      <Route path="/account">{outside(<AccountScreen />)}</Route>
      <Route path="/connected/:provider">{outside(<ConnectedScreen />)}</Route>
      <Route>
        {outside(<Screen title="There is no such page" lead="The link may be of an older version of the page." />)}
      </Route>
    </Switch>
  );
}

function WorkspaceRoutes() {
  const { workspace: workspaceId = '' } = useParams();
  const common = { workspaceId, side: <ConversationList workspaceId={workspaceId} /> };
  const settings = (content: ReactNode) => (
    <Layout {...common} back={pages.workspace(workspaceId)}>
      {content}
    </Layout>
  );
  return (
    <Switch>
      <Route path="/w/:workspace">
        <Layout {...common}>
          <FirstRun workspaceId={workspaceId} />
        </Layout>
      </Route>
      <Route path="/w/:workspace/c/:conversation">
        {({ conversation }) => <Conversation {...common} conversationId={conversation ?? ''} />}
      </Route>
      <Route path="/w/:workspace/agents">{settings(<AgentsScreen workspaceId={workspaceId} />)}</Route>
      <Route path="/w/:workspace/connections">{settings(<ConnectionsScreen workspaceId={workspaceId} />)}</Route>
      <Route path="/w/:workspace/usage">{settings(<UsageScreen workspaceId={workspaceId} />)}</Route>
      <Route path="/w/:workspace/receipts">{settings(<ReceiptsScreen workspaceId={workspaceId} />)}</Route>
    </Switch>
  );
}

function Conversation({ conversationId, ...common }: PanelProps & { side: ReactNode }) {
  const [query] = useSearchParams();
  const Panel = PANELS[query.get('panel') ?? ''];
  const { workspaceId } = common;
  return (
    <Layout
      {...common}
      back={pages.workspace(workspaceId)}
      panel={Panel && <Panel workspaceId={workspaceId} conversationId={conversationId} />}
    >
      <ConversationScreen key={conversationId} workspaceId={workspaceId} conversationId={conversationId} />
    </Layout>
  );
}
