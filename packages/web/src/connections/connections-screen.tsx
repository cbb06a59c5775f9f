import type { ReactNode } from 'react';
import { Confirm, Screen, Section, Show } from '../screen/screen.js';
import styles from '../screen/screen.module.css';
import { ownUrl } from '../session/own-url.js';
import { pages } from '../session/pages.js';
import { Button, ButtonLink } from '../ui/button.js';
import { Dialog, DialogActions } from '../ui/dialog.js';
import { notifyError } from '../ui/notify.js';
import { Badge } from '../ui/parts.js';
import { leaveFor, type Provider, returnsHere } from './connect.js';
import { type Item, type Step, useConnections } from './use-connections.js';

/** The apps that agents can use for the user. */
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
              <ul className={styles['cards']}>
                {items.map((item) => {
                  const { provider, enabled, name } = item;
                  if (provider === null) return null;
                  const verb = enabled ? 'Disconnect' : 'Connect';
                  const choose = (): void =>
                    enabled ? setStep({ kind: 'disconnecting', item, provider }) : void connect(item, provider);
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
              <ul className={styles['cards']}>
                {items.map((item) => (item.provider === null ? <AppCard key={item.name} item={item} /> : null))}
              </ul>
              <div>
                <ButtonLink href={`${pages.agents(workspaceId)}?tab=tools`}>Choose what each agent may do</ButtonLink>
              </div>
            </Section>
            {step !== undefined && (
              <StepDialog step={step} onClose={close} onDisconnect={(...one) => void disconnect(...one)} />
            )}
          </>
        )}
      </Show>
    </Screen>
  );
}

function AppCard({ item, children }: { item: Item; children?: ReactNode }) {
  return (
    <li className={styles['card']}>
      <img src={ownUrl(item.icon_url)} alt="" width={24} height={24} />
      <div className={styles['about']}>
        <h3>{item.name}</h3>
        <p>{item.description}</p>
        {item.provider !== null && item.enabled && (
          <p className={styles['facts']}>
            <Badge tone="ok">Connected</Badge>
          </p>
        )}
      </div>
      {children}
    </li>
  );
}

function StepDialog(props: {
  step: Step;
  onClose: () => void;
  onDisconnect: (item: Item, provider: Provider) => void;
}) {
  const { step, onClose } = props;
  const { name } = step.item;
  if (step.kind === 'not-configured')
    return (
      <Dialog
        title={`${name} is not set up here`}
        description={`Whoever runs this installation must register it at ${name} first.`}
        onClose={onClose}
      >
        <DialogActions>
          <Button onClick={onClose}>Close</Button>
        </DialogActions>
      </Dialog>
    );
  if (step.kind === 'disconnecting')
    return (
      <Confirm
        title={`Disconnect ${name}?`}
        description="Agents can no longer use it. Its access is deleted here and revoked there. What agents did stays."
        keep="Stay connected"
        action="Disconnect"
        onClose={onClose}
        onConfirm={() => props.onDisconnect(step.item, step.provider)}
      />
    );
  const { scopes } = step.configuration;
  const isHere = returnsHere(step.configuration);
  return (
    <Dialog
      title={`Connect ${name}`}
      description={isHere ? `${name} asks you for these permissions, and brings you back here.` : undefined}
      onClose={onClose}
    >
      {scopes.length > 0 && (
        <ul className={styles['bullets']}>
          {scopes.map((scope) => (
            <li key={scope}>
              <code>{scope.replace('https://www.googleapis.com/auth/', '')}</code>
            </li>
          ))}
        </ul>
      )}
      {!isHere && <p>This installation connects {name} in the app for phones only. Open it there.</p>}
      <DialogActions>
        <Button onClick={onClose}>Cancel</Button>
        {isHere && (
          <Button
            look="primary"
            onClick={() =>
              void leaveFor(step.provider, step.configuration, location.pathname).catch(notifyError('It failed'))
            }
          >
            Continue to {name}
          </Button>
        )}
      </DialogActions>
    </Dialog>
  );
}
