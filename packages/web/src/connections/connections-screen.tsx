import type { ReactNode } from 'react';
import { Screen, Section, Show } from '../screen/screen.js';
import { ownUrl } from '../session/own-url.js';
import { pages } from '../session/pages.js';
import { Button, ButtonLink } from '../ui/button.js';
import { Confirm, Dialog, FormDialog } from '../ui/dialog.js';
import { Facts, Item } from '../ui/item.js';
import { Badge } from '../ui/parts.js';
import { ui } from '../ui/ui.js';
import { leaveFor, returnsHere, type Target, targetOf } from './connect.js';
import { type App, type Step, useConnections } from './use-connections.js';

export function ConnectionsScreen({ workspaceId }: { workspaceId: string }) {
  const { loaded, step, setStep, close, connect, disconnect } = useConnections();
  return (
    <Screen
      title="Connections"
      lead="Connect an app, and the agents can use it for you. What changes something there asks you first, unless you allow it."
    >
      <Show loaded={loaded} what="connections">
        {({ items }) => (
          <>
            <Section title="Apps">
              <ul className={ui('list')}>
                {items.map((item) => {
                  const { enabled, name } = item;
                  const target = targetOf(item);
                  if (target === undefined) return null;
                  const verb = enabled ? 'Disconnect' : 'Connect';
                  const choose = (): void =>
                    enabled ? setStep({ kind: 'disconnecting', item, target }) : void connect(item, target);
                  return (
                    <AppCard key={name} item={item}>
                      <Button aria-label={`${verb} ${name}`} onClick={choose}>
                        {verb}
                      </Button>
                    </AppCard>
                  );
                })}
              </ul>
            </Section>
            <Section title="Built in" lead="These tools belong to every agent.">
              <ul className={ui('list')}>
                {items.map((item) => (item.type === 'tool' ? <AppCard key={item.name} item={item} /> : null))}
              </ul>
              <div>
                <ButtonLink href={`${pages.agents(workspaceId)}?tab=tools`}>Choose what each agent may do</ButtonLink>
              </div>
            </Section>
            {step !== undefined && <StepDialog step={step} onClose={close} onDisconnect={disconnect} />}
          </>
        )}
      </Show>
    </Screen>
  );
}

function AppCard({ item, children }: { item: App; children?: ReactNode }) {
  return (
    <Item image={ownUrl(item.icon_url)} title={item.name} actions={children}>
      <p className={ui('lead')}>{item.description}</p>
      {item.type === 'app' && item.enabled && (
        <Facts>
          <Badge tone="ok">Connected</Badge>
        </Facts>
      )}
    </Item>
  );
}

function StepDialog(props: {
  step: Step;
  onClose: () => void;
  onDisconnect: (item: App, target: Target) => Promise<void>;
}) {
  const { step, onClose } = props;
  const { name } = step.item;
  if (step.kind === 'not-configured')
    return (
      <Dialog
        title={`${name} is not set up here`}
        description={`Whoever runs this installation must register it at ${name} first.`}
        onClose={onClose}
      />
    );
  if (step.kind === 'disconnecting')
    return (
      <Confirm
        title={`Disconnect ${name}?`}
        description="Agents can no longer use it. Its access is deleted here and revoked there. What agents did stays."
        keep="Stay connected"
        action="Disconnect"
        onClose={onClose}
        onConfirm={() => props.onDisconnect(step.item, step.target)}
      />
    );
  const { scopes } = step.configuration;
  if (!returnsHere(step.configuration))
    return (
      <Dialog
        title={`Connect ${name}`}
        description={`This installation connects ${name} in the app for phones only. Open it there.`}
        onClose={onClose}
      />
    );
  return (
    <FormDialog
      title={`Connect ${name}`}
      description={`${name} asks you for these permissions, and brings you back here.`}
      action={`Continue to ${name}`}
      onClose={onClose}
      onSubmit={() => leaveFor(step.target, step.configuration, location.pathname)}
    >
      {scopes.length > 0 && (
        <ul className={ui('stack tight bullets')}>
          {scopes.map((scope) => (
            <li key={scope}>
              <code>{scope.replace('https://www.googleapis.com/auth/', '')}</code>
            </li>
          ))}
        </ul>
      )}
    </FormDialog>
  );
}
