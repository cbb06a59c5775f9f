import { Combobox as Base } from '@base-ui/react/combobox';
import styles from './ui.module.css';

export interface Option {
  value: string;
  label: string;
}

/** Filters a list while the user writes. */
export function Combobox(props: { label: string; options: Option[]; onChoose: (option: Option) => void }) {
  return (
    <Base.Root
      items={props.options}
      value={null}
      onValueChange={(option: Option | null) => option && props.onChoose(option)}
    >
      <Base.Input className={styles['input']} placeholder={props.label} aria-label={props.label} />
      <Base.Portal>
        <Base.Positioner sideOffset={4} align="start">
          <Base.Popup className={styles['popup']}>
            <Base.Empty className={styles['group']}>Nothing matches.</Base.Empty>
            <Base.List>
              {(option: Option) => (
                <Base.Item key={option.value} value={option} className={styles['item']}>
                  {option.label}
                </Base.Item>
              )}
            </Base.List>
          </Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  );
}
