//! The three system calls that std has no safe form of. All unsafe code of this crate is here.
#![expect(unsafe_code, reason = "kill, prctl and atexit have no safe form in std")]

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Sends a signal to the process group that `pid` leads. A group that is gone is not an error.
pub(crate) fn signal_group(pid: u32, signal: libc::c_int) {
    let Ok(pid) = libc::pid_t::try_from(pid) else { return };
    // SAFETY: kill takes plain numbers and touches no memory of ours.
    unsafe { libc::kill(-pid, signal) };
}

/// Has the kernel kill the child when the thread that spawns it ends, so also when this process is
/// killed. The *thread* counts: spawn from one that lives as long as the process.
///
/// Elsewhere than on Linux there is no such request, and only an orderly end stops the child.
pub(crate) fn die_with_parent(command: &mut Command) {
    #[cfg(target_os = "linux")]
    {
        let parent = std::process::id();
        // SAFETY: between fork and exec only prctl and getppid are called; both may be called there.
        unsafe {
            command.pre_exec(move || {
                if libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL) != 0 {
                    return Err(io::Error::last_os_error());
                }
                // The parent may have died before the request was in force.
                if u32::try_from(libc::getppid()) != Ok(parent) {
                    return Err(io::Error::from_raw_os_error(libc::ESRCH));
                }
                Ok(())
            });
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = command;
}

/// Has `hook` run when this process exits in an orderly way.
///
/// # Errors
/// When the C library has no room for another hook.
pub(crate) fn at_exit(hook: extern "C" fn()) -> io::Result<()> {
    // SAFETY: the hook is a plain function that lives as long as the program.
    if unsafe { libc::atexit(hook) } == 0 { Ok(()) } else { Err(io::Error::other("atexit refused the hook")) }
}
