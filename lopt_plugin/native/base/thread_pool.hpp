// Worker threads for one prompt or batch: started on first use, shared by all callers, recreated after a fork.
#pragma once

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include "base/process.hpp"

namespace lopt {

// Thrown by work that only the caller's own thread can do.
struct OnlyOnCaller : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class ThreadPool {
  public:
    using Work = std::function<void(size_t)>;

    // Calls work(i) for every i below count, on the caller and at most threads - 1 workers, and returns when all items
    // are done. Calls consume(i) on the caller, in order, as soon as all items up to i are done, so sequential work
    // overlaps with the rest. The caller does what a worker could not (OnlyOnCaller). Rethrows the first other exception;
    // nothing is consumed after it.
    void run(size_t count, size_t threads, const Work& work, const Work& consume = {}) {
        if (threads < 2 || count < 2) {
            for (size_t i = 0; i < count; i++) {
                work(i);
                if (consume) consume(i);
            }
            return;
        }
        const auto job = std::make_shared<Job>(count, &work);
        (*crew_).offer(job, std::min(threads, count) - 1);
        size_t consumed = 0;
        while (job->do_one())
            while (consume && consumed < count && job->ready(consumed, false)) consume_one(*job, consume, consumed++);
        while (consumed < count && job->ready(consumed, true)) consume_one(*job, consume, consumed++);
        job->wait_for(count);
        if (job->error) std::rethrow_exception(job->error);
    }

    class Background;

  private:
    struct Job {
        Job(size_t n, const Work* f) : count(n), work(f), done(n, 0), left_to_caller(n, 0) {}

        // Does the next item that has not been started; returns false if there is none.
        bool do_one() {
            const size_t i = next.fetch_add(1);
            if (i >= count) return false;
            try {
                (*work)(i);
            } catch (const OnlyOnCaller&) {
                left_to_caller[i] = 1;
            } catch (...) {
                fail();
            }
            // Holds the lock, so that the waiting caller cannot miss it.
            const std::lock_guard<std::mutex> lock(mutex);
            done[i] = 1;
            finished++;
            progress.notify_all();
            return true;
        }
        void fail() {
            const std::lock_guard<std::mutex> lock(mutex);
            if (!error) error = std::current_exception();
        }
        // Is item i done, without any failure? Waits for it if `waiting`.
        bool ready(size_t i, bool waiting) {
            std::unique_lock<std::mutex> lock(mutex);
            if (waiting) progress.wait(lock, [&] { return done[i] || error; });
            return done[i] && !error;
        }
        void wait_for(size_t items) {
            std::unique_lock<std::mutex> lock(mutex);
            progress.wait(lock, [&] { return finished == items; });
        }
        // Prevents further items from starting; returns how many were started.
        size_t stop() { return std::min(next.exchange(count), count); }

        const size_t count;
        const Work* work;  // valid until all items are done; not called after that
        std::atomic<size_t> next{0};
        std::mutex mutex;
        std::condition_variable progress;
        std::vector<uint8_t> done, left_to_caller;
        size_t finished = 0;
        std::exception_ptr error;
    };

    static void consume_one(Job& job, const Work& consume, size_t i) {
        try {
            if (job.left_to_caller[i]) (*job.work)(i);
            if (consume) consume(i);
        } catch (...) {
            job.fail();
        }
    }

    struct Crew {
        std::mutex mutex;
        std::condition_variable wake;
        std::deque<std::shared_ptr<Job>> jobs;  // one element for each worker that may still join
        std::vector<std::thread> workers;
        size_t idle = 0;
        bool stopping = false;

        ~Crew() {
            {
                const std::lock_guard<std::mutex> lock(mutex);
                stopping = true;
            }
            wake.notify_all();
            for (auto& worker : workers) worker.join();
        }
        void offer(const std::shared_ptr<Job>& job, size_t helpers) {
            constexpr size_t MOST_WORKERS = 1024;
            const std::lock_guard<std::mutex> lock(mutex);
            for (size_t i = 0; i < helpers; i++) jobs.push_back(job);
            // If the system allows no more threads, the work is only slower: the caller does it.
            try {
                while (workers.size() < MOST_WORKERS && idle < jobs.size() && workers.size() < helpers) {
                    workers.emplace_back([this] { serve(); });
                    idle++;
                }
            } catch (const std::system_error&) {
            }
            wake.notify_all();
        }
        void serve() {
            std::unique_lock<std::mutex> lock(mutex);
            for (;;) {
                wake.wait(lock, [this] { return stopping || !jobs.empty(); });
                if (stopping) return;
                const std::shared_ptr<Job> job = std::move(jobs.front());
                jobs.pop_front();
                idle--;
                lock.unlock();
                while (job->do_one()) {}
                lock.lock();
                idle++;
            }
        }
    };

    OfProcess<Crew> crew_;
};

// Calls work(i) for every i below count on workers, until it is destroyed. Without workers, the caller of `finish` does
// the work. `work` must not throw. The pool must outlive this object.
class ThreadPool::Background {
  public:
    Background(ThreadPool& pool, size_t count, size_t workers, Work work)
        : work_(std::move(work)), job_(std::make_shared<Job>(count, &work_)) {
        if (const size_t helpers = std::min(workers, count)) (*pool.crew_).offer(job_, helpers);
    }
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;
    ~Background() {
        if (process_ != process_number()) {
            // The parent's workers do not exist here, and may have held the mutex.
            static_cast<void>(new std::shared_ptr<Job>(std::move(job_)));
            return;
        }
        job_->wait_for(job_->stop());
    }

    bool is_done(size_t i) { return process_ == process_number() && job_->ready(i, false); }
    // Returns true when item i is done; the caller first does any items up to i that have not been started. Returns false
    // in a forked child, where the item may never be done.
    bool finish(size_t i) {
        if (process_ != process_number()) return false;
        while (!job_->ready(i, false)) {
            if (job_->next.load() > i) return job_->ready(i, true);
            job_->do_one();
        }
        return true;
    }

  private:
    const pid_t process_ = process_number();
    const Work work_;
    std::shared_ptr<Job> job_;
};

}  // namespace lopt
