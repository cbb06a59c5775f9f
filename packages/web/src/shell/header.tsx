import { Link } from 'wouter';
import { pages } from '../session/pages.js';
import { useOpenCards } from '../session/use-client.js';
import { Icon } from '../ui/icon.js';
import { Badge } from '../ui/parts.js';
import { ui } from '../ui/ui.js';
import { ConnectionLine } from './connection-line.js';
import { LazyMenu } from './lazy-menu.js';
import styles from './layout.module.css';
import { useAccountMenu, useWorkspaceMenu } from './menus.js';

/** @param props.back on phones, the parent screen */
export function Header({ workspaceId, back }: { workspaceId: string | undefined; back: string | undefined }) {
  return (
    <header className={ui('row', styles['header'])}>
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
  const { name, entries } = useWorkspaceMenu(workspaceId);
  if (entries.length === 0) return null;
  return (
    <LazyMenu
      label={`Workspaces: ${name ?? 'choose one'}`}
      className={ui('button quiet', styles['switcher'])}
      trigger={
        <>
          <span className={ui('clip')}>{name ?? 'Workspaces'}</span>
          <Icon name="chevron" size={14} />
        </>
      }
      entries={entries}
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
  const { user, entries } = useAccountMenu();
  return (
    <LazyMenu
      label={`Account of ${user}`}
      className={ui('button quiet icon')}
      trigger={
        <span className={ui('symbol')} aria-hidden>
          {user.slice(0, 1).toUpperCase()}
        </span>
      }
      entries={entries}
    />
  );
}
