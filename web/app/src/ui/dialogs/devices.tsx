import type { Device } from "@godwit/sdk";

import { full } from "../../i18n/format.js";
import { t } from "../../i18n/index.js";
import { attempt } from "../../model/tasks.js";
import { useSession } from "../context.js";
import { Icon } from "../icon.js";
import { Modal } from "../modal.js";
import { useLoaded } from "./loaded.js";
import { closeDialog } from "./state.js";

/** The signed-in devices of the account. */
export function Devices() {
  const session = useSession();
  const list = useLoaded(() => session.http.accounts.devices(), [session.own.deviceChanges.value]);
  const revoke = async (device: Device) => {
    if (await attempt(session.http.accounts.revokeDevice(device.id))) {
      list.reload();
    }
  };
  return (
    <Modal title={t("account.devices")} onClose={closeDialog}>
      <ul class="lines">
        {list.value?.devices.map((device) => (
          <li class="line" key={device.id}>
            <Icon name="device" />
            <span class="line-main">
              <bdi>{device.name === "" ? t("devices.unnamed") : device.name}</bdi>
              <span class="quiet-text">
                {device.current
                  ? t("devices.current")
                  : t("devices.active", { when: full(device.last_active_at) })}
              </span>
            </span>
            {!device.current && (
              <button type="button" class="button danger" onClick={() => void revoke(device)}>
                {t("devices.revoke")}
              </button>
            )}
          </li>
        ))}
      </ul>
    </Modal>
  );
}
