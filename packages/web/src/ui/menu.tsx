import { Menu as Base } from '@base-ui/react/menu';
import type { ReactNode } from 'react';
import { useLocation } from 'wouter';
import type { MenuEntry } from './menu-entry.js';
import styles from './overlay.module.css';
import { ui } from './ui.js';

/** For lists that another control opens: they share the menu code. */
export { Base as MenuParts };

/** `trigger` is the button's content. */
export function Menu(props: {
  label: string;
  className?: string | undefined;
  trigger: ReactNode;
  entries: MenuEntry[];
  open?: boolean;
}) {
  const [, go] = useLocation();
  const choose = ({ href, external, onSelect }: MenuEntry): void => {
    onSelect?.();
    if (href !== undefined && external) location.assign(href);
    else if (href !== undefined) go(href);
  };
  return (
    <Base.Root defaultOpen={props.open ?? false}>
      <Base.Trigger className={props.className} aria-label={props.label}>
        {props.trigger}
      </Base.Trigger>
      <Base.Portal>
        <Base.Positioner sideOffset={6} align="end">
          <Base.Popup className={ui('card', styles['popup'])}>
            {props.entries.map((entry, index) => (
              <MenuItem key={index} entry={entry} onChoose={() => choose(entry)} />
            ))}
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}

function MenuItem({ entry, onChoose }: { entry: MenuEntry; onChoose: () => void }) {
  return (
    <>
      {entry.separated && <Base.Separator className={styles['separator']} />}
      <Base.Item className={ui('item')} data-current={entry.current || undefined} onClick={onChoose}>
        {entry.label}
      </Base.Item>
    </>
  );
}
