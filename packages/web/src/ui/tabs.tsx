import { Tabs as Base } from '@base-ui/react/tabs';
import type { ReactNode } from 'react';
import styles from './overlay.module.css';
import { ui } from './ui.js';

export interface Tab {
  id: string;
  label: ReactNode;
  content: ReactNode;
}

export function Tabs(props: { label: string; tabs: Tab[]; value?: string; onChange?: (id: string) => void }) {
  const first = props.tabs[0]?.id;
  const chosen = props.value === undefined ? { defaultValue: first } : { value: props.value };
  return (
    <Base.Root {...chosen} className={ui('stack')} onValueChange={(id) => props.onChange?.(String(id))}>
      <Base.List className={ui('row', styles['tabs'])} aria-label={props.label}>
        {props.tabs.map(({ id, label }) => (
          <Base.Tab key={id} value={id} className={ui('button quiet', styles['tab'])}>
            {label}
          </Base.Tab>
        ))}
      </Base.List>
      {props.tabs.map(({ id, content }) => (
        <Base.Panel key={id} value={id} className={ui('stack loose')}>
          {content}
        </Base.Panel>
      ))}
    </Base.Root>
  );
}
