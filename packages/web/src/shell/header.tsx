import { useWorkspaces } from '@uswarm/client/react';
import { Link } from 'wouter';
import { pages } from '../session/pages.js';
import { useClient, useOpenCards, useSession } from '../session/use-client.js';
import { chooseTheme, chosenTheme } from '../theme/theme.js';
import { Icon } from '../ui/icon.js';
import { Badge } from '../ui/parts.js';
import { ui } from '../ui/ui.js';
import { ConnectionLine } from './connection-line.js';
import { LazyMenu } from './lazy-menu.js';
import styles from './layout.module.css';

/** On each screen. @param props.back on phones, the screen that leads here */
export function Header({ workspaceId, back }: { workspaceId: string | undefined; back: string | undefined }) {
  return (
    <header className={styles['header']}>
      {back !== undefined && (
        <Link href={back} className={ui('button quiet icon', styles['back'])} aria-label="Back">
          <Icon name="back" />
        </Link>
      )}
      <Link href="/" className={ui('button quiet', styles['brand'])} aria-label="uswarm: all workspaces">
        <img src="/icon.svg" width={26} height={26} alt="" />
        <span>uswarm</span>
      </Link>
      <WorkspaceSwitcher workspaceId={workspaceId} />
      <span className={ui('grow')} />
      <ConnectionLine />
      <WaitingLink />
      <AccountMenu />
    </header>
  );
}

function WorkspaceSwitcher({ workspaceId }: { workspaceId: string | undefined }) {
  const workspaces = useWorkspaces(useClient());
  const shown = workspaces.find(({ id }) => id === workspaceId);
  if (workspaces.length === 0) return null;
  const entries = workspaces.map(({ id, name, unread_count: unread }) => ({
    label: unread > 0 && id !== workspaceId ? `${name} · ${unread} unread` : name,
    href: pages.workspace(id),
    current: id === workspaceId,
  }));
  return (
    <LazyMenu
      label={`Workspaces: ${shown?.name ?? 'choose one'}`}
      className={ui('button quiet', styles['switcher'])}
      trigger={
        <>
          <span className={ui('clip')}>{shown?.name ?? 'Workspaces: choose one'}</span>
          <Icon name="chevron" size={14} />
        </>
      }
      entries={[...entries, { label: 'All workspaces', href: '/', separated: true }]}
    />
  );
}

function WaitingLink() {
  const count = useOpenCards().length;
  return (
    <Link href={pages.waiting} className={ui('button quiet')} aria-label={`Waiting for me: ${count}`}>
      <Icon name="bell" />
      {count > 0 && <Badge tone="attention">{count}</Badge>}
    </Link>
  );
}

function AccountMenu() {
  const { user, signOut, configuration } = useSession();
  const theme = chosenTheme();
  const themes = (['system', 'light', 'dark'] as const).map((each, index) => ({
    label: { system: 'Colours of the device', light: 'Light', dark: 'Dark' }[each],
    current: each === theme,
    separated: index === 0,
    onSelect: () => chooseTheme(each),
  }));
  return (
    <LazyMenu
      label={`Account of ${user.name}`}
      className={ui('button quiet icon')}
      trigger={
        <span className={ui('symbol round')} aria-hidden>
          {user.name.slice(0, 1).toUpperCase()}
        </span>
      }
      entries={[
        { label: 'Account', href: pages.account },
        { label: 'Reference of the API', href: '/docs', external: true },
        ...(configuration.local ? [{ label: 'For developers', href: '/developers', external: true }] : []),
        ...themes,
        { label: 'Sign out', separated: true, onSelect: () => void signOut() },
      ]}
    />
  );
}
